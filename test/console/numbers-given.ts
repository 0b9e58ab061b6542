import { randomUUID } from 'node:crypto'
import type { TestDatabase } from '../support/database.ts'

/** A minute of figures, as a process would have written it. */
export interface GivenMinute {
  queue: string
  kind?: string
  /** Minutes before now. */
  ago?: number
  /** The current time, for several rows that must be in the same minute. @default the database's */
  now?: Date
  process?: string
  enqueued?: number
  started?: number
  succeeded?: number
  failed?: number
  dead?: number
  wait?: Record<string, number>
  run?: Record<string, number>
}

export async function givenMinute(db: TestDatabase, given: GivenMinute): Promise<void> {
  const { queue, kind = 'job', ago = 0, now, process = randomUUID(), wait = {}, run = {} } = given
  const { enqueued = 0, started = 0, succeeded = 0, failed = 0, dead = 0 } = given
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, wait, run)
     values (date_trunc('minute', coalesce($12::timestamptz, now())) - $1 * interval '1 minute', $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11)`,
    [ago, queue, kind, process, enqueued, started, succeeded, failed, dead, wait, run, now ?? null],
  )
}

export interface GivenWorker {
  host?: string
  queues?: Record<string, number>
  kinds?: string[]
  version?: string | null
  /** Time since its last heartbeat; its lease is 30 s from then. */
  silentFor?: string
  startedAgo?: string
  lost?: { ago: string; death?: string | null; inGoodOrder?: boolean }
}

export async function givenWorker(db: TestDatabase, given: GivenWorker = {}): Promise<string> {
  const {
    host = 'here',
    queues = {},
    kinds = [],
    version = null,
    silentFor = '1 second',
    startedAgo = '1 hour',
    lost,
  } = given
  const id = randomUUID()
  const about = { host, pid: 42, version, stintVersion: '0.0.0', queues, kinds, schedules: [] }
  await db.query(
    `insert into stint.worker (id, started_at, renewed_at, lease_until, lost_at, about, rss_bytes, death)
     values ($1, now() - $2::interval, now() - $3::interval, now() - $3::interval + interval '30 seconds',
             now() - $4::interval, $5, 1000000, $6)`,
    [
      id,
      startedAgo,
      lost === undefined ? silentFor : lost.ago,
      lost?.ago ?? null,
      about,
      lost?.death ?? null,
    ],
  )
  if (lost?.inGoodOrder === false && lost.death === undefined)
    await db.query(`update stint.worker set lease_until = lost_at - interval '1 second' where id = $1`, [id])
  return id
}
