import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../../core/failures/thrown.ts'
import { Database } from '../../db/database.ts'
import { atMost, waitAfterMs } from '../../db/wait.ts'
import { reportDeath } from '../../jobs/leases/lease.ts'
import type { Logger } from '../report/log.ts'
import type { LeaseNote } from './messages.ts'

const mostTries = 5
const deadlineMs = 2_000
/** How long the end of the supervisor waits for reports that are under way. */
const patienceMs = 3_000

/**
 * Tells the database that processes have ended, so that others take their jobs back now and need not wait until the
 * lease runs out. Only for a process whose end was seen. Best effort: if it fails, the lease runs out as usual.
 */
export class Deaths {
  readonly #log: Logger
  readonly #underWay = new Set<Promise<void>>()

  constructor(log: Logger) {
    this.#log = log
  }

  report(leases: readonly LeaseNote[], story: string): void {
    for (const ofOne of byDatabase(leases)) {
      const report = this.#report(ofOne, story).finally(() => this.#underWay.delete(report))
      this.#underWay.add(report)
    }
  }

  /** Resolves when all reports are sent, or after `patienceMs`. */
  async told(): Promise<void> {
    await atMost(patienceMs, Promise.all(this.#underWay))
  }

  async #report({ url, schema, workers }: EndedWorkers, story: string): Promise<void> {
    const applicationName = 'stint supervisor'
    const db = new Database({ url, schema, poolSize: 1, deadlineMs, applicationName })
    try {
      for (let tries = 1; !(await this.#try(db, workers, story)) && tries < mostTries; tries++)
        await pause(waitAfterMs(tries))
    } finally {
      await db.close()
    }
  }

  async #try(db: Database, workers: readonly string[], story: string): Promise<boolean> {
    try {
      await reportDeath(db, { workers, story })
      return true
    } catch (error) {
      this.#log.debug(
        { workers, error: messageOf(error) },
        'could not report the end of a process to the database',
      )
      return false
    }
  }
}

interface EndedWorkers {
  url: string
  schema: string
  workers: string[]
}

function byDatabase(leases: readonly LeaseNote[]): EndedWorkers[] {
  const found = new Map<string, EndedWorkers>()
  for (const { url, schema, workerId } of leases) {
    const key = `${schema} ${url}`
    const ended = found.get(key) ?? { url, schema, workers: [] }
    ended.workers.push(workerId)
    found.set(key, ended)
  }
  return [...found.values()]
}
