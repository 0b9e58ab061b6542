import { flowMutants } from './flow-mutants.ts'
import { edit } from './mutant.ts'
import { stepMutants } from './step-mutants.ts'
import type { Mutant } from './mutant.ts'

const limits = 'schema/migrations/0011_limits.sql.js'
const limitedClaims = 'schema/migrations/0012_claim_limited.sql.js'

/** The statements that end an attempt, and the parameter with the leases in each. */
const settles = [
  { id: 'M01a', statement: 'succeed', leases: '$2' },
  { id: 'M01b', statement: 'retry', leases: '$3' },
  { id: 'M01c', statement: 'put-back', leases: '$3' },
  { id: 'M01d', statement: 'dead-letter', leases: '$2' },
  { id: 'M01e', statement: 'cancel-running', leases: '$2' },
]

export const mutants: readonly Mutant[] = [
  ...flowMutants,
  ...stepMutants,
  ...settles.map(({ id, statement, leases }): Mutant => ({
    id,
    what: `${statement} does not check the lease`,
    caughtBy: 'zombie.settle',
    file: `jobs/${statement}.sql.js`,
    edits: edit(`and lease_id = any(${leases}::uuid[])`, `and ${leases}::uuid[] is not null`),
  })),
  {
    id: 'M02',
    what: 'a batch mixes two leases of one job',
    caughtBy: 'batch.cross-lease',
    file: 'worker/settle/settler.js',
    edits: edit('!this.#config.held.isCurrent(held) ||', 'false ||'),
  },
  {
    id: 'M03',
    what: 'a heartbeat of a lost worker is accepted',
    caughtBy: 'zombie.heartbeat',
    file: 'jobs/leases/renew.sql.js',
    edits: edit('and lost_at is null', ''),
  },
  {
    id: 'M04a',
    what: 'progress does not check the lease',
    caughtBy: 'zombie.side-writes',
    file: 'jobs/attempt/progress.sql.js',
    edits: edit(
      String.raw`and lease_id = any($2::uuid[])\n     for no key update`,
      'and $2::uuid[] is not null for no key update',
    ),
  },
  {
    id: 'M04b',
    what: 'log lines are stored without a check of the lease',
    caughtBy: 'zombie.side-writes',
    file: 'jobs/attempt/add-log.sql.js',
    edits: edit(`and lease_id = (said ->> 'lease')::uuid`, ''),
  },
  {
    id: 'M04c',
    what: 'children are stored although the completion is refused',
    caughtBy: 'zombie.side-writes',
    file: 'worker/settle/succeed-with-children.js',
    edits: edit('moved.length > 0 && children.length > 0', 'children.length > 0'),
  },
  {
    id: 'M04d',
    what: 'ctx.once and ctx.tx begin without a check of the lease',
    caughtBy: 'zombie.side-writes',
    file: 'jobs/attempt/hold-running.sql.js',
    edits: edit('and lease_id = $3::uuid', 'and $3::uuid is not null'),
  },
  {
    id: 'M05a',
    what: 'the sweep does not check again that the worker is lost',
    caughtBy: 'sweep.race',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit('and not coalesce((select lost_at is null from ', 'and not coalesce((select false from '),
  },
  {
    id: 'M05b',
    what: 'workers are declared lost before their lease has expired',
    caughtBy: 'sweep.live',
    file: 'jobs/leases/bury.sql.js',
    edits: edit('and lease_until < ', `and lease_until - interval '9 days' < `),
  },
  {
    id: 'M08',
    what: 'the sweep misses jobs whose worker has no row',
    caughtBy: 'sweep.orphan-claim',
    file: 'worker/recovery/lost.sql.js',
    edits: [
      { from: 'not exists (select from ', to: 'exists (select from ' },
      { from: 'worker.lost_at is null', to: 'worker.lost_at is not null' },
    ],
  },
  {
    id: 'M09',
    what: 'a worker never gives back a claim that it does not know',
    caughtBy: 'claim.lost-reply',
    file: 'worker/recovery/recovery.js',
    edits: edit('if (unknown.size === 0)', 'if (unknown.size >= 0)'),
  },
  {
    id: 'M10',
    what: 'workers are declared lost right after an outage',
    caughtBy: 'outage.no-blame',
    file: 'jobs/leases/bury.sql.js',
    edits: edit('and pg_postmaster_start_time() < clock_timestamp() - (lease_until - renewed_at)', ''),
  },
  ...[
    { id: 'M11a', what: 'a job is stored although its fire time has already fired', more: [] },
    {
      id: 'M11b',
      what: 'a job is stored although another scheduler has fired its time since this one looked',
      more: edit('and turn = $2::bigint', 'and $2::bigint is not null'),
    },
  ].map(({ id, what, more }): Mutant => ({
    id,
    what,
    caughtBy: 'fires.many-schedulers',
    file: 'schedules/fires/fire.sql.js',
    edits: [
      { from: 'select fires.job_id,', to: 'select judged.job_id,' },
      {
        from: String.raw`from fires\n    join judged on judged.fire_at = fires.fire_at\n   where fires.outcome = 'fired'`,
        to: `from judged where judged.verdict = 'fired'`,
      },
      ...more,
    ],
  })),
  {
    id: 'M13',
    what: 'the writes of ctx.tx are not in the transaction that settles the job',
    caughtBy: 'tx.at-most-once',
    file: 'worker/attempt/fenced-tx.js',
    edits: edit(
      'const value = await theirs(() => work(tx.client))',
      'const value = await theirs(() => this.#db.transaction((other) => work(other.client)))',
    ),
  },
  {
    id: 'M14a',
    what: 'a lost reply to the COMMIT of ctx.tx counts as a failure',
    caughtBy: 'commit.cut-settle',
    file: 'worker/attempt/fenced-tx.js',
    edits: edit('await this.#wasCommitted(held)', 'false'),
  },
  {
    id: 'M14b',
    what: 'a settle whose reply was lost is repeated without checking whether it was stored',
    caughtBy: 'commit.cut-settle',
    file: 'worker/settle/settler.js',
    edits: edit('isRepeat = true;', 'isRepeat = false;'),
  },
  {
    id: 'M15',
    what: 'an enqueue is repeated without checking whether it was stored',
    caughtBy: 'commit.cut-enqueue',
    file: 'client/enqueue/deliver.js',
    edits: edit('isRepeat = true;', 'isRepeat = false;'),
  },
  {
    id: 'M16',
    what: 'connections are closed instead of reset',
    caughtBy: 'partition.late-bytes',
    file: 'db/resettable-client.js',
    edits: [
      { from: 'this.#socket.resetAndDestroy()', to: 'this.#socket.destroy()' },
      // When the network heals, this cancel request would sometimes undo the insert in time and hide the mutant.
      { from: 'askToCancel(this, { processID, secretKey });', to: ';' },
    ],
  },
  {
    id: 'M20',
    what: 'a slot is freed before its settle is confirmed',
    caughtBy: 'settle.backlog',
    file: 'worker/settle/settler.js',
    edits: edit(
      'const ended = { held, outcome: this.#placed(held, outcome), ranMs, resolve };',
      `resolve({ type: 'stored', held, outcome, ranMs }); const ended = { held, outcome, ranMs, resolve };`,
    ),
  },
  {
    id: 'M21',
    what: 'results are stored unchanged, even if Postgres cannot hold them',
    caughtBy: 'hostile.outputs',
    file: 'worker/attempt/context.js',
    edits: edit(
      'toStorable(value, { maxBytes: maxResultBytes })',
      '{ text: JSON.stringify(value), changed: [] }',
    ),
  },
  {
    id: 'M22',
    what: 'one refused ending fails its whole batch',
    caughtBy: 'settle.bad-row',
    file: 'worker/settle/settler.js',
    edits: edit('if (isOneJobs && group.length > 1)', 'if (isOneJobs && group.length < 0)'),
  },
  {
    id: 'M26a',
    what: 'a job that had not begun is quarantined',
    caughtBy: 'crash.bystander',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit(
      String.raw`coalesce(begun_lease = lease_id, false)\n           and crashes + suspect`,
      'crashes + suspect',
    ),
  },
  {
    id: 'M26b',
    what: 'a crash is counted for a job that had not begun',
    caughtBy: 'crash.bystander',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit('+ coalesce(begun_lease = lease_id, false)::integer', '+ 1'),
  },
  {
    id: 'M27a',
    what: 'no job is quarantined',
    caughtBy: 'crash.limit',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit('and crashes + suspect::integer + 1 >= ', 'and crashes + suspect::integer + 1 >= 1000 + '),
  },
  {
    id: 'M27b',
    what: 'crashes are not counted',
    caughtBy: 'crash.limit',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit('+ coalesce(begun_lease = lease_id, false)::integer', '+ 0'),
  },
  {
    id: 'M28a',
    what: 'a release burns an attempt',
    caughtBy: 'release.no-burn',
    file: 'jobs/put-back.sql.js',
    edits: edit('= attempt - 1,', '= attempt,'),
  },
  {
    id: 'M28b',
    what: 'the loss of a worker burns an attempt',
    caughtBy: 'crash.bystander',
    file: 'worker/recovery/sweep.sql.js',
    edits: edit('= attempt - 1,', '= attempt,'),
  },
  {
    id: 'M29',
    what: 'handlers are not aborted when the lease is not renewed',
    caughtBy: 'abort.first',
    file: 'worker/lease/lease.js',
    edits: edit('const riskAt = 0.8', 'const riskAt = 1000'),
  },
  {
    id: 'M30',
    what: 'the server does not end a frozen ctx.tx',
    caughtBy: 'tx.idle-bound',
    file: 'jobs/attempt/hold-running.sql.js',
    edits: edit('$1::text', '(0 * $1::integer)::text'),
  },
  {
    id: 'M31a',
    what: 'a blocked event loop stops the heartbeat',
    caughtBy: 'blocked.keeps-lease',
    file: 'worker/lease/lease-thread.js',
    edits: edit(
      'await untilDue(failures);',
      `do await untilDue(failures); while (ageMs(memory, 'alive') > leaseMs / 3);`,
    ),
  },
  {
    id: 'M31b',
    what: 'a process with a blocked event loop ends although its job is within the timeout',
    caughtBy: 'blocked.keeps-lease',
    file: 'worker/lease/lease-thread.js',
    edits: edit('blockedMs > leaseMs && lateMs > 0', 'blockedMs > leaseMs'),
  },
  {
    id: 'M32a',
    what: 'a claim under limits counts what runs before it has the lock',
    caughtBy: 'limits.exact',
    file: limitedClaims,
    edits: [
      { from: 'used       jsonb;', to: 'used jsonb := stint.used_of(p_queue, p_keys);' },
      { from: String.raw`\n  used := `, to: String.raw`\n  perform ` },
    ],
  },
  {
    id: 'M32b',
    what: 'claims under limits do not exclude each other',
    caughtBy: 'limits.exact',
    file: limits,
    edits: edit('pg_advisory_xact_lock(names.lock)', 'pg_advisory_xact_lock_shared(names.lock)'),
  },
  {
    id: 'M32c',
    what: 'claims of two queues under one limit do not exclude each other',
    caughtBy: 'limits.exact',
    file: limits,
    edits: edit('other.queue <> of_queue', 'other.queue <> other.queue'),
  },
  {
    id: 'M33',
    what: 'a job that was given back and claimed again counts twice',
    caughtBy: 'limits.count-once',
    file: limits,
    edits: edit(
      String.raw`select unnest(ids) from base))\n     and job.lease_id is not null\n     and job.queue = of_queue\n     and coalesce(job.claim_seq, 0) <= (select floor from base)`,
      String.raw`select unnest(ids) from base))\n     and job.lease_id is not null\n     and job.queue = of_queue`,
    ),
  },
  {
    id: 'M33b',
    what: 'each of two lanes of a key gets the whole limit of the key',
    caughtBy: 'limits.both-sorts',
    file: limitedClaims,
    edits: edit(' or has_both and rule.by_key and rule.kinds is null', ''),
  },
  {
    id: 'M34',
    what: 'jobs that start in order are ordered by run_at',
    caughtBy: 'order.first-live',
    file: limitedClaims,
    edits: edit(
      String.raw`order by job.created_at, job.id\n                      limit 1) as head`,
      'order by job.run_at, job.id limit 1) as head',
    ),
  },
  {
    id: 'M35',
    what: 'tokens are taken without a lock',
    caughtBy: 'rates.exact',
    file: 'schema/migrations/0010_rates.sql.js',
    edits: edit(
      String.raw`given once more.\n  perform set_config('synchronous_commit', 'off', true);\n  perform pg_advisory_xact_lock(`,
      String.raw`given once more.\n  perform (`,
    ),
  },
  {
    id: 'M36a',
    what: 'two processes both open a breaker',
    caughtBy: 'breakers.decided-once',
    file: 'limits/breakers/trip.sql.js',
    edits: [
      {
        from: String.raw`(select name from seen)\n     and breaker.state = 'closed'`,
        to: '(select name from seen)',
      },
      {
        from: String.raw`where breaker.name = tripping.name\n     and breaker.state = 'closed'`,
        to: 'where breaker.name = tripping.name',
      },
    ],
  },
  {
    id: 'M36b',
    what: 'two processes both win the probe of a breaker',
    caughtBy: 'breakers.decided-once',
    file: 'limits/breakers/take-probe.sql.js',
    edits: edit('for update', ''),
  },
]
