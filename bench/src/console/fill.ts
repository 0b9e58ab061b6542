import type { Client } from 'pg'
import { loadStint } from './stint.ts'

/** How many rows of everything to make. */
export interface Size {
  /** Live jobs, and as many finished ones. */
  jobs: number
  dead: number
}

export function sizeOf(millions: number): Size {
  return { jobs: Math.round(millions * 1_000_000), dead: Math.round(millions * 25_000) }
}

/**
 * Fills a database as if it had been in use for a while: jobs, dead letters, workers, figures, schedules, operations,
 * audit.
 */
export async function fill(db: Client, url: string, size: Size): Promise<void> {
  const { client } = await loadStint()
  const stint = new client.Stint({ connection: url })
  await stint.migrate()
  await fillJobs(db, size)
  await fillWorkers(db)
  await fillActs(db)
  const job = client.defineJob({ kind: 'report.make', queue: 'queue-1' })
  for (let n = 0; n < 100; n++)
    await stint.schedules.set(client.defineSchedule({ name: `report-${n}`, job, every: '1h', input: { n } }))
  await stint.close()
  await db.query(
    `insert into stint.fire (schedule, fire_at, outcome, job_id)
     select name, date_trunc('hour', now()) - h * interval '1 hour', case when h = 3 then 'missed' else 'fired' end,
            case when h <> 3 then gen_random_uuid() end
       from stint.schedule, generate_series(1, 300) as h`,
  )
}

const queueOf = (n: string): string => `'queue-' || ${n} % 20`
const kindOf = `case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end`
const workerOf = (n: string): string => `('00000000-0000-4000-8000-' || lpad((${n})::text, 12, '0'))::uuid`
/** In order of creation: live jobs are the newest, dead letters are spread over all. */
const idOf = (n: string): string =>
  `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 + ${n}), 12, '0') || '7' || lpad(to_hex(${n} % 4096), 3, '0') || '8000' || lpad(to_hex(${n}), 12, '0'))::uuid`

async function fillJobs(db: Client, { jobs, dead }: Size): Promise<void> {
  await db.query(
    `insert into stint.finished (id, created_at, run_at, started_at, finished_at, state, epoch, attempt, max_attempts, crashes,
                                 priority, version, queue, kind, key, correlation_id, input, result)
     select ${idOf('n')}, now() - interval '1 day' + n * interval '20 milliseconds', now(), now(), now(),
            (case when n % 1000 = 0 then 'cancelled' else 'succeeded' end)::stint.job_state, 1, 1, 5, 0, 0, 1,
            ${queueOf('n')}, ${kindOf}, 'key-' || n % 5000, case when n % 10 = 0 then 'order-' || n % 100000 end,
            jsonb_build_object('n', n, 'text', repeat('x', 100)), '{"ok": true}'
       from generate_series(1, ${jobs}) as n`,
  )
  // A rare queue, some that run, fewer that retry; most are ready, half of them with a key.
  await db.query(
    `insert into stint.job (id, created_at, run_at, state, epoch, priority, queue, kind, key, input, lease_id, worker_id, started_at)
     select ${idOf(`${jobs} + n`)}, now() - interval '1 hour' + n * interval '1 millisecond', now(),
            (case when n % 500 = 0 then 'running' when n % 50000 = 1 then 'retrying' when n % 20 = 2 then 'scheduled' else 'ready' end)::stint.job_state,
            1, 0, case when n % 100000 = 3 then 'quiet' else ${queueOf('n / 7')} end, ${kindOf},
            case when n % 2 = 1 then 'key-' || n % 5000 end, jsonb_build_object('n', n, 'text', repeat('x', 100)),
            case when n % 500 = 0 then gen_random_uuid() end,
            case when n % 500 = 0 then ${workerOf('n / 500 % 20')} end, case when n % 500 = 0 then now() end
       from generate_series(1, ${jobs}) as n`,
  )
  await db.query(
    `insert into stint.dead (id, created_at, run_at, died_at, epoch, attempt, max_attempts, crashes, priority, version, queue,
                             kind, key, search, input, reason, error, fingerprint)
     select ${idOf(`n * ${Math.floor((2 * jobs) / dead)} + 7`)}, now() - interval '1 day', now(), now(), 5, 5, 5, 0, 0, 1,
            case when n % 2 = 0 then 'billing' else ${queueOf('n')} end, ${kindOf}, 'key-' || n % 500,
            array['country:' || case n % 50 when 0 then 'BR' else 'IT' end], '{"n": 1}', 'exhausted',
            jsonb_build_object('name', 'CardDeclined', 'message', 'do not honor ' || n, 'stack', repeat('at x', 300)),
            case when n % 5 = 0 then 'b02c9e51b02c9e51' else lpad(to_hex(n % 200), 16, 'a') end
       from generate_series(1, ${dead}) as n`,
  )
  await db.query(
    `insert into stint.attempt (job_id, epoch, attempt, outcome, started_at, ended_at, error, fingerprint)
     select id, a, a, 'failed', now() - interval '1 minute', now(), error, fingerprint
       from stint.dead, generate_series(1, 5) as a`,
  )
  await db.query(
    `insert into stint.log (job_id, epoch, line, level, message)
     select id, 5, l, 'info', 'a line of some words'
       from (select id from stint.dead order by id limit 2000) as first, generate_series(1, 50) as l`,
  )
}

async function fillWorkers(db: Client): Promise<void> {
  await db.query(
    `insert into stint.worker (id, lease_until, about, rss_bytes)
     select ${workerOf('n')}, now() + interval '1 hour',
            jsonb_build_object('host', 'host-' || n, 'pid', n, 'version', 'v' || n % 3,
                               'kinds', '["charge.capture", "charge.refund", "mail.send"]'::jsonb,
                               'queues', (select jsonb_object_agg('queue-' || q, 20) from generate_series(0, 19) as q)), 1e8
       from generate_series(0, 19) as n`,
  )
}

async function fillActs(db: Client): Promise<void> {
  await db.query(
    `insert into stint.operation (id, action, filter, as_of, settings, state, job_id, noted, matched, acted, reason, actor, origin, finished_at)
     select ${idOf('n')}, 'replay', 'error:b02c', now(),
            '{"max": 100000, "pace": null, "canary": 0, "stopIf": {"sameError": null, "anyFailure": null}}',
            case when n % 100 = 0 then 'stopped' else 'done' end, gen_random_uuid(), 100, 100, 100, 'because', 'ana', 'api', now()
       from generate_series(1, 2000) as n`,
  )
  await db.query(
    `insert into stint.operation_job (operation_id, id, outcome)
     select ${idOf('n')}, gen_random_uuid(), 'acted'
       from generate_series(1, 2000) as n, generate_series(1, 100)`,
  )
  await db.query(
    `insert into stint.audit (id, actor, role, origin, action, target, reason)
     select ${idOf('n')}, 'person-' || n % 50, 'operator', 'api', 'job.cancel', 'job:' || n, 'because'
       from generate_series(1, 200000) as n`,
  )
}

/** Figures up to this moment, as 20 processes write them minute by minute: two hours by process, a week rolled up. */
export async function fillFigures(db: Client): Promise<void> {
  await db.query('truncate stint.stat_minute, stint.stat_hour, stint.error_group, stint.error_hour')
  const bins = `(select jsonb_object_agg(b::text, 10) from generate_series(100, 125) as b)`
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, wait, run)
     select date_trunc('minute', now()) - m * interval '1 minute', 'queue-' || q, 'kind-' || q % 3,
            ${workerOf('p')}, 1, 250, 260, 250, 10, ${bins}, ${bins}
       from generate_series(0, 119) as m, generate_series(0, 19) as q, generate_series(0, 19) as p where (p + q) % 4 = 0
      order by m desc`,
  )
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, wait, run)
     select date_trunc('minute', now()) - m * interval '1 minute', 'queue-' || q, 'kind-' || q % 3,
            '00000000-0000-0000-0000-000000000000', 1, 250, 260, 250, 10, ${bins}, ${bins}
       from generate_series(120, 10079) as m, generate_series(0, 19) as q
      order by m desc`,
  )
  await db.query(
    `insert into stint.stat_hour (hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused, cancelled,
                                  snoozed, released, crashed, attempts, wait, run)
     select date_trunc('hour', now()) - h * interval '1 hour', 'queue-' || q, 'kind-' || q % 3, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, ${bins}, ${bins}
       from generate_series(2, 2160) as h, generate_series(0, 19) as q`,
  )
  await db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     select fingerprint, 'charge.capture', 'transient', 'CardDeclined', 'do not honor', 'do not honor', now(), now(), sample
       from (select fingerprint, (array_agg(id))[1] as sample from stint.dead group by fingerprint) as grouped`,
  )
  await db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     select fingerprint, date_trunc('hour', now()) - h * interval '1 hour', gen_random_uuid(), 1, 3, 3
       from stint.error_group, generate_series(0, 99) as h`,
  )
}

/** Sets the workers to live ones, or to ones that are long gone. */
export async function setWorkers(db: Client, state: 'alive' | 'gone'): Promise<void> {
  await db.query(
    state === 'alive'
      ? `update stint.worker set renewed_at = now(), lease_until = now() + interval '1 hour', lost_at = null`
      : `update stint.worker set renewed_at = now() - interval '1 day', lease_until = now() - interval '1 day',
                                 lost_at = now() - interval '1 day'`,
  )
}
