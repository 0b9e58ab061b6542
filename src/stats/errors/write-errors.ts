import { isRegression } from '../../core/failures/regression.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { DatabaseClock } from '../write/clock.ts'
import { ErrorTally } from './error-tally.ts'
import type { ErrorRow } from './error-tally.ts'
import { regressSql } from './regress.sql.ts'
import { writeErrorsSql } from './write-errors.sql.ts'

/** An error that was resolved and is back. */
export interface Regressed {
  fingerprint: string
  kind: string
  name: string
  /** Its message, without what differs from one failure to the next. */
  title: string
  /** The job that failed so last. */
  jobId: string
  /** Of the app that failed; null where it does not say. */
  version: string | null
  /** The version that was said to have the repair, where one was. */
  resolvedIn: string | null
}

interface ResolvedRow extends Omit<Regressed, 'version'> {
  resolvedAt: Date
  versionFirstAt: string | null
}

/** Counts the failures of a process and writes them to the error groups. */
export class ErrorWriter {
  readonly tally: ErrorTally
  readonly #process: string
  readonly #version: string | null
  #flush = 0
  #writing: Promise<Regressed[]> | undefined

  constructor({
    process,
    version,
    clock,
  }: {
    process: string
    version: string | null
    clock: DatabaseClock
  }) {
    this.#process = process
    this.#version = version
    this.tally = new ErrorTally(clock)
  }

  /** Writes what has changed, and gives the groups that it found to be back. A failure loses nothing. */
  async write(db: Queryable): Promise<Regressed[]> {
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined)
    this.#writing = this.#write(db)
    try {
      return await this.#writing
    } finally {
      this.#writing = undefined
    }
  }

  async #write(db: Queryable): Promise<Regressed[]> {
    const { rows, written } = this.tally.changes()
    if (rows.length === 0) {
      written(true)
      return []
    }
    try {
      const request = {
        process: this.#process,
        flush: ++this.#flush,
        version: this.#version,
        rows: JSON.stringify(rows),
      }
      const resolved = await run(db, writeErrorsSql, request, (row: ResolvedRow) => row)
      const regressed = await this.#regress(db, resolved, rows)
      written(true)
      return regressed
    } catch (error) {
      written(false)
      throw error
    }
  }

  async #regress(
    db: Queryable,
    resolved: readonly ResolvedRow[],
    rows: readonly ErrorRow[],
  ): Promise<Regressed[]> {
    const regressed: Regressed[] = []
    for (const { resolvedAt, versionFirstAt, ...group } of resolved) {
      const lastAt = Math.max(
        ...rows.filter((row) => row.fingerprint === group.fingerprint).map((row) => Date.parse(row.lastAt)),
      )
      const isBack = isRegression({
        version: this.#version,
        versionFirstAt: Date.parse(versionFirstAt ?? ''),
        lastAt,
        resolvedAt: resolvedAt.getTime(),
        resolvedIn: group.resolvedIn,
      })
      if (!isBack) continue
      const request = { fingerprint: group.fingerprint, resolvedAt }
      const changed = await run(db, regressSql, request, () => true)
      if (changed.length > 0) regressed.push({ ...group, version: this.#version })
    }
    return regressed
  }
}
