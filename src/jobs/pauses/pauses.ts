import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { pausePartSql } from './pause-part.sql.ts'
import { pauseQueueSql } from './pause-queue.sql.ts'
import { pausesOfQueueSql } from './pauses-of-queue.sql.ts'
import { pausesSql } from './pauses.sql.ts'
import { resumePartSql } from './resume-part.sql.ts'
import { resumeQueueSql } from './resume-queue.sql.ts'

/** A pause that is in effect: of a whole queue, or of one of its kinds or keys. */
export interface Pause {
  /** Only jobs of this kind are paused; null: of any kind. */
  kind: string | null
  /** Only jobs with this key are paused; null: with any key, or none. */
  key: string | null
  /** Since when; null if its row does not say. */
  since: Date | null
  /** When it ends by itself; null: it lasts until it is resumed. */
  until: Date | null
  by: string | null
  reason: string | null
}

/** A queue, or one of its kinds or keys. */
export interface Pausable {
  queue: string
  kind?: string | undefined
  key?: string | undefined
}

export interface NewPause extends Pausable {
  /** An ISO time; with `forMs` null too, it lasts until it is resumed. */
  until: string | null
  forMs: number | null
  by: string
  reason: string
}

/** Paused kinds and keys that one queue may have. */
export const mostPauses = 1_000

/** False if too many kinds and keys of the queue are paused already. */
export async function pause(db: Queryable, request: NewPause): Promise<boolean> {
  const { queue, kind = '', key = '', ...how } = request
  if (kind === '' && key === '') {
    await run(db, pauseQueueSql, { queue, ...how }, () => undefined)
    return true
  }
  return (await run(db, pausePartSql, { queue, kind, key, ...how, most: mostPauses }, () => true)).length > 0
}

/** False if it was not paused. */
export async function resume(db: Queryable, { queue, kind = '', key = '' }: Pausable): Promise<boolean> {
  const resumed =
    kind === '' && key === ''
      ? await run(db, resumeQueueSql, { queue }, () => true)
      : await run(db, resumePartSql, { queue, kind, key }, () => true)
  return resumed.length > 0
}

/** The pauses of one queue that are in effect; that of the queue itself comes first. */
export function pausesOf(db: Queryable, queue: string): Promise<Pause[]> {
  return run(db, pausesOfQueueSql, { queue, most: mostPauses }, toPause)
}

/** The pauses in effect by queue, up to 20 kinds and keys of each; queues without any are left out. */
export async function allPauses(db: Queryable): Promise<Map<string, Pause[]>> {
  const rows = await run(db, pausesSql, {}, (row: PauseRow) => row)
  const byQueue = new Map<string, Pause[]>()
  for (const row of rows) {
    const known = byQueue.get(row.queue)
    if (known === undefined) byQueue.set(row.queue, [toPause(row)])
    else known.push(toPause(row))
  }
  return byQueue
}

/** The pause of the queue itself, among its pauses. */
export function pauseOfQueue<One extends Pick<Pause, 'kind' | 'key'>>(
  pauses: readonly One[],
): One | undefined {
  return pauses.find(({ kind, key }) => kind === null && key === null)
}

interface PauseRow {
  queue: string
  kind: string | null
  key: string | null
  paused_at: Date | null
  paused_until: Date | null
  paused_by: string | null
  reason: string | null
}

function toPause({ kind, key, paused_at, paused_until, paused_by, reason }: PauseRow): Pause {
  return { kind, key, since: paused_at, until: paused_until, by: paused_by, reason }
}
