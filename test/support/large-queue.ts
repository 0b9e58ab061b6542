import type pg from 'pg'
import { form } from './form.ts'

/** The size of a batch, and the number of jobs in the table. */
export const [batchSize, jobs] = form === 'short' ? [500, 250_000] : [1_000, 1_000_000]
/** A worker that is alive and has running jobs. */
export const liveWorker = workerId(3)

/** A batch of running jobs, with the parameters of every statement that settles or notes them. */
export type Batch = Record<'ids' | 'leaseIds' | 'items' | 'lines' | 'id' | 'lease' | 'worker', string> & {
  results: null
}

/** The ids of the workers 0 to 7; 0 and 1 are lost. */
export function workerId(n: number): string {
  return `00000000-0000-4000-8000-00000000000${String(n)}`
}

/** Fills all tables. Most jobs are ready, at several priorities; some have keys, are due later, are of an unknown kind, or run. */
export async function fill(db: pg.Client): Promise<void> {
  const rebuild = await dropIndexes(db)
  await db.query(`
    insert into stint.worker (id, lease_until, lost_at)
    select ('00000000-0000-4000-8000-00000000000' || n)::uuid, stint.now() + interval '1 hour',
           case when n < 2 then stint.now() end
      from generate_series(0, 7) as n`)
  await db.query(`
    insert into stint.job (id, created_at, run_at, state, attempt, epoch, priority, queue, kind, key, input,
                           started_at, worker_id, lease_id, begun_lease)
    select ${uuidAt('at', 'n')}, at,
           case when state in ('scheduled', 'retrying') and n % 4 > 0 then at + interval '1 day' else at end,
           state, 1, 1,
           case when queue = 'mail' then (array[-10, 0, 0, 5, 10])[1 + n / 100 % 5] else 0 end,
           queue, queue || '.work',
           case when part = 80 then 'hot' when part between 81 and 87 then 'key-' || (hashint4(n) & 16383) end,
           '{"n": 1}',
           case when state = 'running' then at end,
           case when state = 'running' then ('00000000-0000-4000-8000-00000000000' || n / 100 % 8)::uuid end,
           case when state = 'running' then ('00000000-0000-4000-9000-00000000000' || n / 100 % 8)::uuid end,
           case when state = 'running' then ('00000000-0000-4000-9000-00000000000' || n / 100 % 8)::uuid end
      from generate_series(1, ${jobs}) as n
     cross join lateral (select n % 100 as part, stint.now() - (${jobs + 1} - n) * interval '3 milliseconds' as at)
     cross join lateral (
             select case when part < 60 then 'bulk' when part < 70 then 'mail' when part < 80 then 'foreign'
                         when part < 88 then 'keyed' when part < 96 then 'later' else 'bulk' end as queue,
                    case when part in (96, 97) then 'running' when part = 95 then 'retrying'
                         when part between 88 and 94 then 'scheduled' else 'ready' end::stint.job_state as state)`)
  // One key without any job for this worker, and the next key.
  await db.query(`
    insert into stint.job (id, created_at, run_at, state, queue, kind, key, input)
    select ${uuidAt('at', 'n')}, at, at, 'ready', 'strange',
           case when n <= ${jobs / 5} then 'strange.work' else 'keyed.work' end,
           case when n <= ${jobs / 5} then 'busy' else 'next' end, '{"n": 1}'
      from generate_series(1, ${jobs / 5 + 1}) as n
     cross join lateral (select stint.now() - (${jobs + 1} - n) * interval '3 milliseconds' as at)`)
  await rebuild()
  // Jobs of a day on either side of midnight.
  await db.query(`
    insert into stint.finished (id, created_at, run_at, finished_at, state, epoch, attempt, max_attempts, crashes,
                                priority, version, queue, kind, lease_id)
    select ${uuidAt('at', 'n')}, at, at, at, 'succeeded', 1, 1, 5, 0, 0, 1, 'bulk', 'bulk.work', gen_random_uuid()
      from generate_series(1, 100000) as n cross join lateral (select ${daysAround} as at)`)
  await db.query(`
    insert into stint.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue,
                            kind, lease_id, reason)
    select ${uuidAt('at', 'n')}, at, at, 5, 5, 5, 0, 0, 1, 'bulk', 'bulk.work', gen_random_uuid(), 'exhausted'
      from generate_series(1, 50000) as n cross join lateral (select ${daysAround} as at)`)
  await db.query(`
    insert into stint.attempt (job_id, epoch, attempt, outcome, lease_id, ended_at)
    select ${uuidAt('at', 'n')}, 1, 1, 'failed', gen_random_uuid(), at
      from generate_series(1, 100000) as n cross join lateral (select ${daysAround} as at)`)
}

/** Building the indexes over a full table takes half the time. */
async function dropIndexes(db: pg.Client): Promise<() => Promise<void>> {
  const { rows } = await db.query<{ name: string; definition: string; isPrimary: boolean }>(`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition, indisprimary as "isPrimary"
      from pg_index
     where indrelid = 'stint.job'::regclass`)
  for (const { name, isPrimary } of rows)
    await db.query(isPrimary ? 'alter table stint.job drop constraint job_pkey' : `drop index ${name}`)
  return async () => {
    for (const { definition, isPrimary } of rows)
      await db.query(
        isPrimary ? 'alter table stint.job add constraint job_pkey primary key (id)' : definition,
      )
  }
}

/** The tables that have many rows. */
export async function findLarge(db: pg.Client): Promise<Set<string>> {
  const { rows } = await db.query<{ relname: string }>(
    `select relname from pg_class where relnamespace = 'stint'::regnamespace and pg_relation_size(oid) > 1e6`,
  )
  return new Set(rows.map(({ relname }) => relname))
}

const daysAround = `date_trunc('day', stint.now(), 'utc') + (n % 2 - 0.5) * n * interval '1 second'`

/** A UUIDv7 of a time, with a number as its random part. */
function uuidAt(at: string, n: string): string {
  const ms = `lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0')`
  return `(${ms} || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`
}

/** A batch to settle: jobs that run under `liveWorker`. */
export async function pickBatch(db: pg.Client): Promise<Batch> {
  const { rows } = await db.query<{ id: string; lease: string }>(
    `select id, lease_id as lease from stint.job where state = 'running' and worker_id = $1 limit ${String(batchSize)}`,
    [liveWorker],
  )
  const [first] = rows
  if (first === undefined || rows.length < batchSize) throw new Error('nothing runs')
  const items = rows.map(({ id, lease }) => {
    const item = { lease, delayMs: 1_000, burns: true, class: 'thrown', ranMs: 5, outcome: 'failed' }
    return [id, { ...item, reason: 'exhausted', percent: 50 }] as const
  })
  const lines = rows.map(({ id, lease }, line) => ({
    id,
    lease,
    epoch: 1,
    line,
    agoMs: 5,
    level: 'info',
    message: 'hello',
  }))
  return {
    ids: `{${rows.map(({ id }) => id).join()}}`,
    leaseIds: `{${first.lease}}`,
    items: JSON.stringify(Object.fromEntries(items)),
    lines: JSON.stringify(lines),
    ...first,
    worker: liveWorker,
    results: null,
  }
}

/** The ids of a batch of jobs whose worker is lost. */
export async function pickLost(db: pg.Client): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `select id from stint.job where state = 'running' and worker_id = $1 limit ${String(batchSize)}`,
    [workerId(0)],
  )
  return `{${rows.map(({ id }) => id).join()}}`
}
