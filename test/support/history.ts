import { Database } from '../../src/db/database.ts'
import type { Service } from '../../src/worker/upkeep/service.ts'
import { usualServices } from '../../src/worker/upkeep/services.ts'
import type { BlobStore } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'

export interface UpkeepHand {
  /** Runs one pass of a service, by name. */
  pass(name: string): Promise<void>
  /** What the services have skipped so far. */
  passedBy: { what: string; error: unknown }[]
  close(): Promise<void>
}

/** Runs services of upkeep when told to, as a leader would. */
export function upkeepByHand(
  url: string,
  { blobs, schema = 'stint' }: { blobs?: BlobStore; schema?: string } = {},
): UpkeepHand {
  const db = new Database({ url, schema, poolSize: 2, deadlineMs: 10_000, applicationName: 'upkeep by hand' })
  const services = new Map<string, Service>(
    usualServices({ blobs }).map((service) => [service.name, service]),
  )
  const passedBy: { what: string; error: unknown }[] = []
  return {
    pass: async (name) => {
      const service = services.get(name)
      if (service === undefined) throw new Error(`There is no service '${name}'`)
      const signal = new AbortController().signal
      await service.runOnce(db, { signal, onPassedBy: (what, error) => passedBy.push({ what, error }) })
    },
    passedBy,
    close: () => db.close(),
  }
}

/** The day partitions of a table, counted from today in the time of the database: -1 is yesterday. */
export async function daysOf(db: TestDatabase, parent: string, schema = 'stint'): Promise<number[]> {
  const rows = await db.query<{ day: number }>(
    `select to_date(right(c.relname, 8), 'YYYYMMDD') - (${schema}.now() at time zone 'utc')::date as day
       from pg_class c
      where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' and c.relname ~ ('^' || $1 || '_[0-9]{8}$')
      order by 1`,
    [parent],
  )
  return rows.map(({ day }) => day)
}

/** Stores finished jobs of this queue, each with an attempt and a log line, at the current time of the database. */
export async function finishJob(db: TestDatabase, queue: string, count = 1): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `insert into stint.finished (id, created_at, run_at, state, epoch, attempt, max_attempts, crashes, priority, version,
                                 queue, kind, finished_at)
     select gen_random_uuid(), stint.now(), stint.now(), 'succeeded', 1, 1, 5, 0, 0, 1, $1, 'kind', stint.now()
       from generate_series(1, $2)
     returning id`,
    [queue, count],
  )
  const ids = rows.map(({ id }) => id)
  await db.query(
    `insert into stint.attempt (job_id, epoch, attempt, outcome, ended_at)
     select id, 1, 1, 'failed', stint.now() from unnest($1::uuid[]) as id`,
    [ids],
  )
  await db.query(
    `insert into stint.log (job_id, epoch, line, level, message, at)
     select id, 1, 1, 'info', 'hello', stint.now() from unnest($1::uuid[]) as id`,
    [ids],
  )
  return ids
}
