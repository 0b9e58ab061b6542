import { randomUUID } from 'node:crypto'
import type { TestDatabase } from '../support/database.ts'
import { plantBreaker } from '../support/planted-breaker.ts'

/** Limits, rates and breakers as a busy service has them: full, overridden, penalised, broken, open, forced. No worker runs their jobs. */
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
  await giveBreakers(db)
}

async function giveBreakers(db: Pick<TestDatabase, 'query'>): Promise<void> {
  const error = 'Error: connect ECONNREFUSED 10.0.0.7:25'
  await plantBreaker(db, { name: 'smtp', queue: 'mail', kind: 'mail.send', error })
  await db.query(
    `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, state, since, probed, forced_until, forced_by, forced_reason)
     values ('maps', 60000, 0.5, 20, 30000, 300000, 3, '{timeout}', 'half-open', now() - interval '2 minutes', 1, null, null, null),
            ('paypal', 60000, 0.5, 20, 30000, 300000, 3, '{timeout}', 'closed', now() - interval '1 hour', 0, null, null, null),
            ('warehouse', 60000, 0.5, 20, 30000, 300000, 3, '{timeout}', 'open', now() - interval '20 minutes', 0,
             now() + interval '2 hours', 'ana', 'the warehouse is moved, see ticket OPS-4711')`,
  )
  await db.query(
    `insert into stint.breaker_count (name, slot, process, flush, ok, failed)
     values ('paypal', now() - interval '2 s', gen_random_uuid(), 1, 39, 1)`,
  )
}
