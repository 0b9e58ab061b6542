/*
 * Rebuilds indexes that are mostly empty, CONCURRENTLY: reads and writes are never blocked.
 *
 * A queue that once had millions of jobs leaves indexes of that size behind. Their pages are used again, but each vacuum
 * reads all of them, and the hot table is vacuumed all the time.
 *
 * The build waits for every transaction that began before it, and meanwhile the table cannot be vacuumed. So the build
 * is given up when one of them does not end within ten seconds, and after three minutes in any case. On a session of our
 * own these limits are settings of the session, which also hold when this process is gone. Behind a pooler the build is
 * cancelled from outside, after half a minute; also when the lead is lost or the process stops. The unfinished index is
 * dropped at once; while another transaction uses the table that is not possible, and the next pass tries again.
 *
 * One index at a time, each at most once a day, successful or not: stint.index_upkeep remembers it. A login that does not
 * own the tables may not rebuild, and no function can do it for the login: REINDEX CONCURRENTLY does not run in
 * functions. That is noted in the table, reported once, and shown by the doctor.
 */
import { messageOf } from '../../core/failures/thrown.ts'
import { classify } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import { ownIndexes } from '../../schema/drift.ts'
import { cancellable } from './cancellable.ts'
import { findBloat, listIndexes, usualBloat } from '../../schema/index-bloat.ts'
import type { BloatLimits, OwnIndex } from '../../schema/index-bloat.ts'
import { indexLeftoversSql } from './index-leftovers.sql.ts'
import { noteIndexSql } from './note-index.sql.ts'
import { oldSnapshotSql } from './old-snapshot.sql.ts'
import type { ServiceContext } from './service.ts'
import { takeIndexSql } from './take-index.sql.ts'

/** How long one build may take. */
const buildMs = 180_000
/** How long it waits for one transaction. */
const waitMs = 10_000
/** How long a build may take on a pooler's session, for which no lock timeout can be set. */
const pooledMs = 30_000
/** How long a drop may take; it waits for transactions that use the table. */
const dropMs = 2_000
const estimateMs = 5_000

export interface RebuildLimits extends BloatLimits {
  /**
   * A transaction that has been open for this long will probably stay open: no build is begun that would wait for it.
   */
  openMs: number
}

const usualLimits: RebuildLimits = { ...usualBloat, openMs: 60_000 }

/** The time for a build, and for the work before and after it. */
export const rebuildPassMs = 240_000

/** Drops unfinished indexes that interrupted builds left behind, and rebuilds one index, if one needs it. */
export async function rebuildIndexes(
  db: Database,
  context: ServiceContext,
  limits: RebuildLimits = usualLimits,
): Promise<void> {
  const { signal, onPassedBy } = context
  await dropLeftovers(db, context)
  for (const index of await listIndexes(db)) {
    if (signal.aborted) return
    if (index.isTried) continue
    if (index.isValid && !(await isBloated(db, index, limits))) continue
    if (!index.isOurs) {
      await noteRefusal(db, index, context)
      continue
    }
    const [holder] = await run(db, oldSnapshotSql, { openMs: limits.openMs }, (row: Holder) => row)
    if (holder !== undefined) {
      onPassedBy(`'${index.name}' is to be built anew`, new Error(inTheWay(holder)))
      return
    }
    const taken = await run(db, takeIndexSql, { name: index.name, bytes: index.bytes }, () => undefined)
    // Another process is rebuilding one, or has tried this one.
    if (taken.length === 0) return
    await rebuild(db, index, context)
    return
  }
}

/** In a transaction, because of its time limit, and because its text differs each time and should not stay prepared. */
async function isBloated(db: Database, index: OwnIndex, limits: BloatLimits): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query(`set local statement_timeout = ${estimateMs}`, [])
    return (await findBloat(tx, index, limits)) !== undefined
  })
}

interface Holder {
  pid: number
  application: string
  ageMs: number
}

function inTheWay({ pid, application, ageMs }: Holder): string {
  return `process ${pid} (${application}) has had a transaction open for ${Math.round(ageMs / 1_000)} s, for which it would wait`
}

async function noteRefusal(db: Database, index: OwnIndex, { onPassedBy }: ServiceContext): Promise<void> {
  const { name, bytes, error: before } = index
  const taken = await run(db, takeIndexSql, { name, bytes }, () => undefined)
  if (taken.length === 0) return
  const error = `Only the owner of '${index.table}' may build it anew`
  await run(db, noteIndexSql, { name, tookMs: 0, error }, () => undefined)
  if (before !== error) onPassedBy(`'${name}' is to be built anew`, new Error(error))
}

async function rebuild(db: Database, { name }: OwnIndex, context: ServiceContext): Promise<void> {
  const startedAt = performance.now()
  const note = (error: string | null): Promise<unknown> => {
    const tookMs = Math.round(performance.now() - startedAt)
    return run(db, noteIndexSql, { name, tookMs, error }, () => undefined)
  }
  try {
    await send(db, `reindex index concurrently "${db.schema}"."${name}"`, {
      afterMs: buildMs,
      waitMs,
      signal: context.signal,
    })
  } catch (error) {
    // Also after an abort: an unfinished index slows down every write.
    await dropLeftovers(db, { ...context, signal: new AbortController().signal })
    await note(messageOf(error).replaceAll('\0', '').slice(0, 1_000))
    const trouble = classify(error)
    if (trouble === 'wait' || trouble === 'unknown') throw error
    context.onPassedBy(`'${name}' could not be built anew`, error)
    return
  }
  await note(null)
}

async function dropLeftovers(db: Database, { signal, onPassedBy }: ServiceContext): Promise<void> {
  const left = await run(db, indexLeftoversSql, { names: ownIndexes() }, (row: { name: string }) => row.name)
  for (const name of left) {
    if (signal.aborted) return
    try {
      const statement = `drop index concurrently if exists "${db.schema}"."${name}"`
      await send(db, statement, { afterMs: dropMs, waitMs: dropMs, signal })
    } catch (error) {
      const trouble = classify(error)
      if (trouble === 'wait' || trouble === 'unknown') throw error
      onPassedBy(`'${name}', left by an interrupted build, could not be dropped yet`, error)
    }
  }
}

interface Sending {
  afterMs: number
  waitMs: number
  signal: AbortSignal
}

async function send(db: Database, statement: string, sending: Sending): Promise<void> {
  const { signal } = sending
  await db.session(
    async (session) => {
      const afterMs = session.isPooled ? Math.min(pooledMs, sending.afterMs) : sending.afterMs
      if (!session.isPooled) {
        await session.query(`set statement_timeout = ${afterMs}`, [])
        await session.query(`set lock_timeout = ${sending.waitMs}`, [])
      }
      try {
        await cancellable(db, statement, { afterMs, signal, on: session })
      } catch (error) {
        // The server reports an error before it has ended the build. The next answer of this session comes after that.
        await session.query('select', []).catch(() => undefined)
        throw error
      }
    },
    { deadlineMs: sending.afterMs + 10_000 },
  )
}
