import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { claim, claimLanes, claimLimited } from '../../src/jobs/claim.ts'
import { justBefore, start } from '../../src/jobs/position.ts'
import { toQueueRules } from '../../src/jobs/queue-rules.ts'
import type { QueueRules } from '../../src/jobs/queue-rules.ts'
import { PoolRules } from '../../src/worker/claim/pool-rules.ts'
import { form } from '../support/form.ts'
import { newName, workerScene } from '../support/workers.ts'

/*
 * `why` reads the functions that a claim of a limited queue reads, but a plain claim says itself which jobs it takes. So random
 * jobs are put into random settings, and both are asked: `why` must say that a job is claimable exactly when a claim with room
 * for all takes it.
 */

const scene = workerScene()
const settings = { short: 200, medium: 5_000, long: 50_000 }[form]

/** The first value in four of five settings: too many other reasons would hide whether limits and rates are judged well. */
function mostly<Value extends string | number | null>(usual: Value, ...others: Value[]): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )
}

const kind = fc.constantFrom('one', 'two')
const key = fc.constantFrom('a', 'b', null)
const kinds = fc.constantFrom(null, ['one'], ['two'], ['one', 'two'])
const setting = fc.record({
  job: fc.record({
    state: mostly('ready', 'scheduled', 'retrying', 'waiting', 'running'),
    inSeconds: fc.constantFrom(-60, -1, 60),
    kind,
    key,
    version: mostly(1, 2, 3),
    priority: fc.integer({ min: -1, max: 1 }),
    options: fc.constantFrom(null, null, { cost: 2 }, { ordered: 'hold' }, { ordered: 'pass', cost: 3 }),
  }),
  others: fc.array(
    fc.record({
      state: fc.constantFrom('ready', 'running', 'running', 'retrying'),
      isEarlier: fc.boolean(),
      isOrdered: fc.boolean(),
      kind,
      key,
      isNumbered: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  workers: fc.array(fc.record({ one: mostly(3, 0, 1, 2), two: mostly(3, 0, 1, 2) }), {
    maxLength: 2,
  }),
  paused: mostly(null, 'queue', 'over', 'one', 'two', 'key a', 'key b'),
  isLimited: fc.boolean(),
  isBased: fc.boolean(),
  limits: fc.array(
    fc.record({
      byKey: fc.boolean(),
      kinds,
      max: fc.integer({ min: 0, max: 3 }),
      override: fc.constantFrom(
        null,
        null,
        { max: 1, until: '1 h' },
        { max: 0, until: '-1 h' },
        { max: 5, until: '1 h' },
      ),
      own: fc.constantFrom(
        null,
        null,
        { max: 2, tier: null },
        { max: null, tier: 'gold' },
        { max: 0, tier: null },
      ),
    }),
    { maxLength: 2 },
  ),
  rates: fc.array(
    fc.record({
      byKey: fc.boolean(),
      kinds,
      tokens: fc.constantFrom(null, -1, 0, 1, 2, 3, 4),
      keep: fc.integer({ min: 0, max: 2 }),
      blocked: fc.constantFrom(null, null, '-1 h', '1 h'),
    }),
    { maxLength: 1 },
  ),
})
type Setting = typeof setting extends fc.Arbitrary<infer Value> ? Value : never

test(`why says claimable exactly when a claim with room for all takes the job, in ${settings} random settings`, async () => {
  const db = new Database({
    url: scene.db.url,
    schema: 'stint',
    poolSize: 2,
    deadlineMs: 20_000,
    applicationName: 'why',
  })
  let claimable = 0
  try {
    await fc.assert(
      fc.asyncProperty(setting, async (given) => {
        const id = randomUUID()
        const queue = newName('why')
        await scene.db.query(toSql(given, { id, queue }))
        const why = await scene.stint.why(id)
        const isTaken = await takes(db, given, { id, queue })
        if (isTaken) claimable++
        expect({ claimable: why.claimable, first: why.first }).toEqual({
          claimable: isTaken,
          first: isTaken ? anyOf(why.first, [null, 'turn']) : why.first,
        })
      }),
      { numRuns: settings },
    )
  } finally {
    await db.close()
  }
  // Settings that nearly always hold a job back would prove little.
  expect(claimable / settings).toBeGreaterThan(0.05)
}, 1_200_000)

function anyOf<Value>(value: Value, allowed: readonly Value[]): Value | undefined {
  return allowed.includes(value) ? value : allowed[0]
}

/** Whether one of the workers takes the job, with all the slots that it could want, and with no job ahead of it. */
async function takes(
  db: Database,
  { job, workers }: Setting,
  at: { id: string; queue: string },
): Promise<boolean> {
  const { id, queue } = at
  const [row] = await scene.db.query<{ rules: QueueRules | null; runAt: string }>(
    `select (select rules from stint.queue_rules(array['${queue}'])) as rules, (run_at at time zone 'utc')::text as "runAt"
       from stint.job where id = '${id}'`,
  )
  const rules = new PoolRules()
  rules.set(toQueueRules(row?.rules ?? {}), 0)
  const floor = justBefore({ runAt: row?.runAt ?? '', id })
  for (const known of workers) {
    const all = JSON.stringify(Object.fromEntries(Object.entries(known).filter(([, version]) => version > 0)))
    const claimant = {
      worker: randomUUID(),
      lease: randomUUID(),
      queue,
      kinds: rules.kindsOf(all),
      limit: 1_000,
    }
    const { key, priority } = job
    if (key !== null && rules.isKeyPaused(key)) continue
    const isOrdered = key !== null && job.options !== null && 'ordered' in job.options
    const lane = { priority, floor, take: 1_000 }
    const jobs = rules.isLimited
      ? (
          await claimLimited(db, {
            ...claimant,
            lanes: [{ ...lane, key, isOrdered, floor: isOrdered ? start : floor }],
          })
        ).jobs
      : key === null
        ? await claim(db, { ...claimant, priority, floor })
        : await claimLanes(db, { ...claimant, lanes: [{ ...lane, key }] })
    if (jobs.some((one) => one.id === id)) return true
  }
  return false
}

/** The rows of a setting, as one text: every value is a name or a number of this file. */
function toSql(given: Setting, { id, queue }: { id: string; queue: string }): string {
  const { job, others, workers, paused, isLimited, isBased, limits, rates } = given
  const worker = randomUUID()
  const text = (value: string | null): string => (value === null ? 'null' : `'${value}'`)
  const array = (values: readonly string[] | null): string =>
    values === null ? 'null' : `'{${values.join()}}'`
  const lease = (state: string): string =>
    state === 'running' ? `'${worker}', gen_random_uuid(), stint.now()` : 'null, null, null'
  const isRuled = isLimited || limits.length > 0 || rates.length > 0
  const since = `stint.now() - interval '${isBased ? '1 h' : '1 s'}'`
  return [
    `insert into stint.job (id, state, queue, kind, key, priority, version, run_at, options, worker_id, lease_id, started_at)
     values ('${id}', '${job.state}', '${queue}', '${job.kind}', ${text(job.key)}, ${job.priority}, ${job.version},
             stint.now() + interval '${job.inSeconds} s', ${text(job.options && JSON.stringify(job.options))}, ${lease(job.state)})`,
    ...others.map(
      (other) =>
        `insert into stint.job (id, state, queue, kind, key, priority, created_at, run_at, options, worker_id, lease_id, started_at, claim_seq)
         values (gen_random_uuid(), '${other.state}', '${queue}', '${other.kind}', ${text(other.key)}, ${job.priority},
                 stint.now() + interval '${other.isEarlier ? -90 : 90} s', stint.now() + interval '${other.isEarlier ? -90 : 90} s',
                 ${other.isOrdered ? `'{"ordered": "hold"}'` : 'null'}, ${lease(other.state)},
                 ${other.state === 'running' && other.isNumbered ? `nextval('stint.claim_order')` : 'null'})`,
    ),
    ...workers.map(
      (known) =>
        `insert into stint.worker (id, lease_until, about)
         values (gen_random_uuid(), stint.now() + interval '1 h',
                 '${JSON.stringify({ queues: { [queue]: 1_000 }, kinds: Object.keys(known), versions: known })}')`,
    ),
    `insert into stint.queue (name, is_limited, paused_until)
     values ('${queue}', ${isRuled}, ${paused === 'queue' ? `'infinity'` : paused === 'over' ? `stint.now() - interval '1 s'` : 'null'})`,
    ...(paused === 'one' || paused === 'two'
      ? [`insert into stint.pause (queue, kind, paused_by) values ('${queue}', '${paused}', 'ana')`]
      : paused?.startsWith('key') === true
        ? [`insert into stint.pause (queue, key, paused_by) values ('${queue}', '${paused.slice(4)}', 'ana')`]
        : []),
    ...limits.flatMap(({ byKey, kinds: covered, max, override, own }, n) => [
      `insert into stint.concurrency_limit (name, by_key, max, tiers, override_max, override_until)
       values ('${queue}/${n}', ${byKey}, ${max}, '{"gold": 3, "odd": "x"}', ${override?.max ?? 'null'},
               ${override === null ? 'null' : `stint.now() + interval '${override.until}'`})`,
      `insert into stint.limit_cover (queue, type, name, kinds, since) values ('${queue}', 'concurrency', '${queue}/${n}', ${array(covered)}, ${since})`,
      ...(own === null
        ? []
        : [
            `insert into stint.limit_key (name, key, max, tier) values ('${queue}/${n}', 'a', ${own.max ?? 'null'}, ${text(own.tier)})`,
          ]),
    ]),
    ...rates.flatMap(({ byKey, kinds: covered, tokens, keep, blocked }, n) => [
      `insert into stint.rate (name, by_key, tokens, period_ms, burst, keep) values ('${queue}/r${n}', ${byKey}, 1, 1e10, 5, ${keep})`,
      `insert into stint.limit_cover (queue, type, name, kinds) values ('${queue}', 'rate', '${queue}/r${n}', ${array(covered)})`,
      ...(tokens === null
        ? []
        : ['', 'a'].map(
            (bucket) =>
              `insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until)
               values ('${queue}/r${n}', '${bucket}', 1, ${tokens}, stint.now(), ${blocked === null ? 'null' : `stint.now() + interval '${blocked}'`})`,
          )),
    ]),
    ...(isBased ? [`select stint.rebase('${queue}')`] : []),
  ].join(';\n')
}
