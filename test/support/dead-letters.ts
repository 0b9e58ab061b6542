import type { TestDatabase } from './database.ts'

export interface Death {
  reason?: string
  error?: unknown
  fingerprint?: string
  attempt?: number
  epoch?: number
}

/** Lets a job die as a worker would: with all its columns, an attempt row for its last try, and without a lease. */
export async function bury(
  db: TestDatabase,
  id: string,
  { reason = 'exhausted', error = null, fingerprint, attempt = 5, epoch = 7 }: Death = {},
): Promise<void> {
  await db.query(
    `with gone as (delete from stint.job where id = $1 returning *)
     insert into stint.dead (
       id, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version, created_at, run_at, started_at,
       deadline_at, worker_id, lease_id, correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       input, input_blob, progress, failures, attempts_before, replaces, unique_key, unique_until_start,
       reason, error, fingerprint)
     select id, queue, kind, key, priority, $2, max_attempts, 2, $3, version, created_at, run_at, now(),
            deadline_at, gen_random_uuid(), gen_random_uuid(), correlation_id, traceparent, tracestate, parent_id,
            flow_id, search, options, input, input_blob, '{"percent": 40}', '{"error": 5}', attempts_before, replaces,
            unique_key, unique_until_start, $4, $5::jsonb, $6
       from gone`,
    [id, attempt, epoch, reason, JSON.stringify(error), fingerprint ?? null],
  )
  await db.query(
    `insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, started_at, error)
     values ($1, $2, $3, 'failed', gen_random_uuid(), now() - interval '2 seconds', $4::jsonb)`,
    [id, epoch, attempt, JSON.stringify(error)],
  )
}
