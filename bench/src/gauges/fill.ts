import type { Client } from 'pg'
import { loadBuilt } from '../built.ts'

interface ClientModule {
  Stint: new (options: { connection: string }) => {
    migrate(): Promise<unknown>
    close(): Promise<void>
  }
}

const smallQueues = 30
const smallJobs = 200
const laterJobs = 30_000

/** How many jobs of each state the measured queues have. */
export type Truth = Readonly<Record<string, Readonly<Record<string, number>>>>

/**
 * Makes so many ready jobs: nine tenths of them in a queue without keys, with two priorities and two kinds, the rest in a
 * queue with keys. Beside them are scheduled, retrying and waiting jobs, and many small queues.
 */
export async function fill(db: Client, url: string, ready: number): Promise<Truth> {
  const { Stint } = await loadBuilt<ClientModule>('index.js')
  const stint = new Stint({ connection: url })
  await stint.migrate()
  await stint.close()
  const keyed = Math.round(ready / 10)
  const bulk = ready - keyed
  await db.query(
    `insert into stint.job (id, queue, kind, state, priority, run_at, input)
     select gen_random_uuid(), 'bulk', case when n % 4 = 0 then 'rare' else 'usual' end, 'ready',
            case when n % 10 = 0 then 5 else 0 end, now() - interval '1 h' + n * interval '1 microsecond', '{"a": "some input"}'
       from generate_series(1, ${bulk}) as n`,
  )
  await db.query(
    `insert into stint.job (id, queue, kind, state, key, run_at, input)
     select gen_random_uuid(), 'keyed', 'work', 'ready', case when n % 2 = 0 then 'big' else 'k' || n % 5000 end, now(), '{}'
       from generate_series(1, ${keyed}) as n`,
  )
  await db.query(
    `insert into stint.job (id, queue, kind, state, epoch, run_at, input)
     select gen_random_uuid(), 'later', 'work', (array['scheduled', 'retrying', 'waiting']::stint.job_state[])[1 + n % 3],
            1, now() + n * interval '1 second', '{}'
       from generate_series(1, ${laterJobs}) as n`,
  )
  await db.query(
    `insert into stint.job (id, queue, kind, priority, run_at, input)
     select gen_random_uuid(), 'small.' || n % ${smallQueues}, 'k', n % 3, now(), '{}'
       from generate_series(1, ${smallQueues * smallJobs}) as n`,
  )
  const third = laterJobs / 3
  const small = Array.from({ length: smallQueues }, (_, n) => [`small.${n}`, { ready: smallJobs }] as const)
  return {
    bulk: { ready: bulk },
    keyed: { ready: keyed },
    later: { scheduled: third, retrying: third, waiting: third },
    ...Object.fromEntries(small),
  }
}
