import { randomUUID } from 'node:crypto'
import type { TestDatabase } from '../support/database.ts'

/** Limits and rates as a busy service has them: full, overridden, penalised, broken. No worker runs their jobs. */
export async function giveLimits(db: Pick<TestDatabase, 'query'>): Promise<void> {
  const worker = randomUUID()
  const limits = ['video/tenant', 'gpu', 'exports/all', 'openai', 'stripe']
  await db.query(
    `insert into stint.worker (id, started_at, lease_until, about)
     values ($1, now(), now() + interval '1 hour', $2)`,
    [worker, JSON.stringify({ host: 'gpu-1', pid: 7, queues: { video: 5 }, kinds: ['video.cut'], limits })],
  )
  await db.query(
    `insert into stint.concurrency_limit (name, by_key, max, tiers, override_max, override_until, override_by, override_reason)
     values ('video/tenant', true, 2, '{"gold": 10}', null, null, null, null),
            ('gpu', false, 3, null, null, null, null, null),
            ('exports/all', false, 5, null, 20, now() + interval '2 hours', 'ana', 'month end'),
            ('old/limit', false, 5, null, 7, null, null, null)`,
  )
  await db.query(
    `insert into stint.limit_key (name, key, max, weight, tier, until, by, reason)
     values ('video/tenant', 'acme', null, 3, 'gold', 'infinity', 'ana', 'paid plan'),
            ('video/tenant', 'initech', 0, null, null, now() + interval '1 hour', 'bo', 'floods the queue')`,
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name, kinds)
     values ('video', 'concurrency', 'video/tenant', null), ('video', 'concurrency', 'gpu', '{video.cut}'),
            ('exports', 'concurrency', 'exports/all', null), ('mail', 'rate', 'openai', '{mail.send}')`,
  )
  await db.query(
    `insert into stint.rate (name, tokens, period_ms, burst, keep, override_tokens, override_until, override_by)
     values ('openai', 90000, 60000, 20000, 2000, null, null, null),
            ('stripe', 100, 1000, 100, 0, 10, 'infinity', 'bo')`,
  )
  await db.query(
    `insert into stint.rate_bucket (name, seq, tokens, at, blocked_until)
     values ('stripe', 1, 40, now(), now() + interval '1 hour')`,
  )
  for (const [index, key] of ['acme', 'acme', 'globex', 'globex'].entries())
    await db.query(
      `insert into stint.job (id, state, queue, kind, key, input, worker_id, lease_id, attempt, epoch, started_at)
       values (gen_random_uuid(), 'running', 'video', 'video.cut', $1, '{}', $2, gen_random_uuid(), 1, 1, now() - $3 * interval '37 s')`,
      [key, worker, index + 1],
    )
}
