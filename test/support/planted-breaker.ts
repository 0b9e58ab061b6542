import type { TestDatabase } from './database.ts'

/** Stores an open breaker that covers a kind of a queue, as a worker and its failures would. */
export async function plantBreaker(
  db: Pick<TestDatabase, 'query'>,
  { name, queue, kind, error = 'Error: down' }: { name: string; queue: string; kind: string; error?: string },
): Promise<void> {
  await db.query(
    `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, state, opens, changes, cause, probe_at)
     values ($1, 30000, 0.5, 20, 30000, 300000, 3, '{timeout,connection}', 'open', 1, 1,
             jsonb_build_object('failed', 23, 'of', 25, 'error', $2::text), stint.now() + interval '1 hour')`,
    [name, error],
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name, kinds) values ($1, 'breaker', $2, array[$3])`,
    [queue, name, kind],
  )
  await db.query(
    `insert into stint.breaker_change (name, was, state, cause) values ($1, 'closed', 'open', '{"failed": 23, "of": 25}')`,
    [name],
  )
}
