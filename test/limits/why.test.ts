import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runStint } from '../support/cli.ts'
import { bury } from '../support/dead-letters.ts'
import { newName } from '../support/workers.ts'
import { WhyScene } from './why-scene.ts'

const scene = new WhyScene()

describe('live', () => {
  test('a running job names its worker, its epoch and the rest of its lease', async () => {
    const contract = scene.contract()
    const worker = await scene.worker(contract)
    const id = await scene.enqueue(contract)
    await scene.run(id, worker)
    expect(await scene.first(id)).toBe(`live: running on …${worker.slice(-4)} for 4m10s, epoch 1, lease 30s`)
    const { claimable, predicates } = await scene.stint.why(id)
    expect(claimable).toBe(false)
    expect(predicates.slice(1).map(({ holds }) => holds)).toEqual(Array(12).fill(null))
  })

  test('an ended job says how it ended', async () => {
    const contract = scene.contract()
    const dead = await scene.enqueue(contract)
    await bury(scene.db, dead, { reason: 'quarantined' })
    expect(await scene.first(dead)).toMatch(/^live: dead: quarantined after 2 crashes, .* ago$/)
    const cancelled = await scene.enqueue(contract)
    await scene.stint.cancel(cancelled, { reason: 'customer left' })
    expect(await scene.first(cancelled)).toBe('live: cancelled 0ms ago: customer left')
  })

  test('an unknown id names the oldest open transaction, for its job may not be committed yet', async () => {
    const writer = new pg.Client({ connectionString: scene.url })
    await writer.connect()
    onTestFinished(() => writer.end())
    await writer.query('begin')
    await writer.query('select txid_current()')
    const { rows } = await writer.query<{ pid: number }>('select pg_backend_pid() as pid')
    const id = randomUUID()
    const why = await scene.stint.why(id)
    expect(why).toMatchObject({ claimable: false, first: 'live' })
    expect(why.predicates[0]?.says).toMatch(
      new RegExp(
        `^unknown id; an enqueue in an open transaction does not exist yet: oldest one open .*, pid ${rows[0]?.pid}$`,
      ),
    )
    const cli = await runStint(['job', 'why', id], scene.url)
    expect(cli.code).toBe(3)
    expect(cli.stdout).toContain('unknown id')
    expect((await scene.http(`GET /v1/jobs/${id}/why`)).status).toBe(404)
    await writer.query('rollback')
  })

  test('an id that is no UUID is refused', async () => {
    await expect(scene.stint.why('x')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.whyTwice(randomUUID())).rejects.toMatchObject({ code: 'job-not-found' })
  })
})

describe('a job that waits', () => {
  test('due: a scheduled job, a retrying job with the group of its failure, and one that no worker promotes', async () => {
    const contract = scene.contract()
    const id = await scene.enqueue(contract, { delay: '42s' })
    expect(await scene.first(id)).toBe('due: due in 42s')
    await scene.worker(contract)
    expect(await scene.why(id)).toMatchObject({ startsInMs: 42_000 })
    await scene.query(`update stint.job set state = 'retrying', attempt = 3 where id = $1`, [id])
    await scene.query(
      `insert into stint.attempt (job_id, epoch, attempt, outcome, fingerprint) values ($1, 3, 3, 'failed', 'b02c9e51')`,
      [id],
    )
    expect(await scene.first(id)).toBe('due: due in 42s; attempt 3/5 failed with b02c')
    await scene.query(`update stint.job set run_at = stint.now() - interval '3 s' where id = $1`, [id])
    expect(await scene.first(id)).toBe(
      `due: due 3s ago, not promoted: a worker of ${contract.queue} does that within a second`,
    )
    await scene.query(`delete from stint.worker where about -> 'queues' ? $1`, [contract.queue])
    expect(await scene.first(id)).toBe(
      `due: due 3s ago, not promoted: no live worker serves ${contract.queue}`,
    )
  })

  test('open: a paused queue, kind or key, with its author, end and reason', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    const id = await scene.enqueue(contract, { key: 'acme' })
    const pause = (kind: string, key: string, reason: string | null): Promise<unknown> =>
      scene.query(
        `insert into stint.pause (queue, kind, key, paused_by, reason) values ($1, $2, $3, 'ana', $4)`,
        [contract.queue, kind, key, reason],
      )
    await pause('', 'acme', null)
    expect(await scene.first(id)).toBe('open: key acme paused by ana until it is resumed')
    await scene.query(`delete from stint.pause where queue = $1`, [contract.queue])
    await pause(contract.kind, '', 'bad deploy')
    expect(await scene.first(id)).toBe(
      `open: kind ${contract.kind} paused by ana until it is resumed: "bad deploy"`,
    )
    await scene.query(`delete from stint.pause where queue = $1`, [contract.queue])
    await scene.query(
      `insert into stint.queue (name, paused_at, paused_until, paused_by, pause_reason)
       values ($1, stint.now(), stint.now() + interval '90 s', 'ana', 'provider down')`,
      [contract.queue],
    )
    expect(await scene.first(id)).toMatch(
      /^open: queue paused by ana until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: "provider down"$/,
    )
    expect((await scene.why(id)).startsInMs).toBe(90_000)
  })

  test('worker: none serves the queue, or none can claim from it', async () => {
    const contract = scene.contract()
    const id = await scene.enqueue(contract)
    expect(await scene.first(id)).toBe(`worker: no live worker serves ${contract.queue}`)
    const worker = await scene.worker(contract)
    await scene.query(`update stint.worker set lease_until = stint.now() - interval '130 s' where id = $1`, [
      worker,
    ])
    expect(await scene.first(id)).toBe(
      `worker: no live worker serves ${contract.queue}; the last, …${worker.slice(-4)}, went 2m10s ago`,
    )
    await scene.worker(contract, {
      about: { failing: [{ queue: contract.queue, since: '', error: 'permission denied' }] },
    })
    expect(await scene.first(id)).toBe(
      `worker: the worker of ${contract.queue} cannot claim: permission denied`,
    )
  })

  test('worker: all of the queue drain or are paused', async () => {
    const contract = scene.contract()
    const { queue } = contract
    const id = await scene.enqueue(contract)
    const ask = (worker: string, state: string | null): Promise<unknown> =>
      scene.query(`update stint.worker set wanted = jsonb_build_object('state', $2::text) where id = $1`, [
        worker,
        state,
      ])
    const one = await scene.worker(contract)
    await ask(one, 'paused')
    expect(await scene.first(id)).toBe(`worker: the worker of ${queue} is paused`)
    const two = await scene.worker(contract)
    expect((await scene.why(id)).claimable).toBe(true)
    for (const worker of [one, two]) await ask(worker, 'draining')
    expect(await scene.first(id)).toBe('worker: 2 workers, both draining')
    expect((await scene.why(id)).claimable).toBe(false)
    const failing = [{ queue, since: '', error: 'permission denied' }]
    await ask(await scene.worker(contract), 'paused')
    await scene.worker(contract, { about: { failing } })
    expect(await scene.first(id)).toBe(
      'worker: 4 workers: 2 draining, 1 paused, 1 cannot claim: permission denied',
    )
    // Neither the handlers nor the free slots of workers that claim nothing count.
    await scene.worker(contract, { about: { kinds: [], versions: {} } })
    expect(await scene.first(id)).toBe(
      `handler: the worker of ${queue} does not handle ${contract.kind} v1: deploy the worker`,
    )
  })

  test('handler: no worker of the queue knows the kind, or its version', async () => {
    const contract = scene.contract(newName('image.resize'), 3)
    const { queue, kind } = contract
    const id = await scene.enqueue(contract)
    await scene.worker(contract, { about: { kinds: [], versions: {} } })
    expect(await scene.first(id)).toBe(
      `handler: the worker of ${queue} does not handle ${kind} v3: deploy the worker`,
    )
    await scene.worker(contract, { knows: 2 })
    expect(await scene.first(id)).toBe(
      `handler: 2 workers serve ${queue}, none handles ${kind} v3 (known: v2): deploy the worker`,
    )
  })

  test('slot: all slots are taken; the longest job is named', async () => {
    const contract = scene.contract()
    const worker = await scene.worker(contract, { slots: 2 })
    const [one, two, id] = [
      await scene.enqueue(contract),
      await scene.enqueue(contract),
      await scene.enqueue(contract),
    ]
    await scene.run(one, worker)
    expect((await scene.why(id)).claimable).toBe(true)
    await scene.run(two, worker, 3)
    expect(await scene.first(id)).toBe(`slot: 0 of 2 slots free; longest held by …${one.slice(-4)}, 4m10s`)
    const { predicates } = await scene.why(id)
    expect(predicates.find(({ name }) => name === 'slot')?.holders).toMatchObject([
      { id: one, workerId: worker, heldMs: 250_000, state: 'running' },
      { id: two, heldMs: 3_000 },
    ])
  })

  test('slot: the free ones are reserved for higher priorities', async () => {
    const contract = scene.contract()
    const reserves = { [contract.queue]: { slots: 2, priority: 50 } }
    const worker = await scene.worker(contract, { slots: 3, about: { reserves } })
    const [low, id] = [await scene.enqueue(contract), await scene.enqueue(contract, { priority: 49 })]
    const high = await scene.enqueue(contract, { priority: 50 })
    expect((await scene.why(id)).claimable).toBe(true)
    await scene.run(low, worker)
    expect(await scene.first(id)).toBe(
      `slot: 2 of 3 slots free, reserved for priority 50 and up; longest held by …${low.slice(-4)}, 4m10s`,
    )
    expect((await scene.why(id)).claimable).toBe(false)
    expect((await scene.why(high)).claimable).toBe(true)
    // A person has raised the concurrency.
    await scene.query(
      `insert into stint.queue (name, concurrency, concurrency_until) values ($1, 4, 'infinity')`,
      [contract.queue],
    )
    expect((await scene.why(id)).claimable).toBe(true)
    await scene.query(
      `update stint.worker set about = jsonb_set(about, $2, '{"slots": "x", "priority": []}') where id = $1`,
      [worker, ['reserves', contract.queue]],
    )
    expect((await scene.why(id)).claimable).toBe(true)
  })

  test('breaker: open after failures, forced by a person, half-open', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    const id = await scene.enqueue(contract)
    const name = newName('smtp')
    await scene.query(
      `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, state, since, cause, probe_at)
       values ($1, 30000, 0.5, 20, 30000, 300000, 3, '{timeout}', 'open', stint.now() - interval '4 min',
               '{"failed": 23, "of": 25, "fingerprint": "77e0aa"}', stint.now() + interval '26 s')`,
      [name],
    )
    await scene.query(
      `insert into stint.limit_cover (queue, type, name, kinds) values ($1, 'breaker', $2, $3)`,
      [contract.queue, name, [contract.kind]],
    )
    expect(await scene.first(id)).toBe(`breaker: ${name} open 4m after 23/25 failures (77e0); probe in 26s`)
    await scene.query(
      `update stint.breaker set forced_until = 'infinity', forced_by = 'ana', forced_reason = 'they asked' where name = $1`,
      [name],
    )
    expect(await scene.first(id)).toBe(`breaker: ${name} open, forced by ana until it is reset: "they asked"`)
    await scene.query(`update stint.breaker set forced_until = null, state = 'half-open' where name = $1`, [
      name,
    ])
    expect(await scene.first(id)).toBe(`breaker: ${name} half-open: its probes decide whether it closes`)
    await scene.query(`update stint.breaker set state = 'closed' where name = $1`, [name])
    expect((await scene.why(id)).claimable).toBe(true)
  })

  test('rate: too few tokens, a closed bucket, and a cost that no bucket ever has', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    const id = await scene.enqueue(contract)
    const name = await scene.rate(contract.queue, 2.5, 100)
    await scene.query(
      `insert into stint.rate_bucket (name, seq, tokens, at) values ($1, 1, 0, stint.now())`,
      [name],
    )
    expect(await scene.first(id)).toBe(`rate: ${name} 0/100; next token in 400ms`)
    expect(await scene.why(id)).toMatchObject({ claimable: false, startsInMs: 400 })
    await scene.query(
      `update stint.rate_bucket set tokens = 50, blocked_until = stint.now() + interval '20 s' where name = $1`,
      [name],
    )
    expect(await scene.first(id)).toBe(`rate: ${name} is closed for 20s: the provider asked to wait`)
    await scene.query(`update stint.job set options = '{"cost": 500}' where id = $1`, [id])
    expect(await scene.first(id)).toBe(
      `rate: ${name} never has 500 tokens: its bucket gives jobs 100 at most, so this job cannot run`,
    )
  })

  test('limit: a full key with its holders, and what is ahead within the key', async () => {
    const contract = scene.contract()
    const worker = await scene.worker(contract)
    const name = await scene.limit(contract.queue, 2, { byKey: true })
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(await scene.enqueue(contract, { key: 'acme' }))
    const [one = '', two = '', , , last = ''] = ids
    await scene.run(one, worker)
    await scene.run(two, worker, 3)
    expect(await scene.first(last)).toBe(
      `limit: key acme 2/2 of ${name}, held by …${one.slice(-4)} (…${worker.slice(-4)}, 4m10s, lease expires in 30s) and 1 more; 2 ahead within the key`,
    )
    const { predicates } = await scene.why(last)
    expect(predicates.find(({ name: one }) => one === 'limit')?.holders?.map(({ id }) => id)).toEqual([
      one,
      two,
    ])
    expect(await scene.why(await scene.enqueue(contract, { key: 'globex' }))).toMatchObject({
      claimable: true,
    })
  })

  test('limit: a limit of 0 lets nothing start, and the end of a full one is estimated from recent runs', async () => {
    const contract = scene.contract()
    const worker = await scene.worker(contract)
    const name = await scene.limit(contract.queue, 1)
    const [one, id] = [await scene.enqueue(contract), await scene.enqueue(contract)]
    await scene.run(one, worker)
    await scene.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, started, run)
       values (date_trunc('minute', stint.now()), $1, $2, gen_random_uuid(), 1, 60, '{"161": 60}')`,
      [contract.queue, contract.kind],
    )
    const { startsInMs } = await scene.why(id)
    expect(startsInMs).toBeGreaterThan(900)
    expect(startsInMs).toBeLessThan(1_200)
    await scene.query(
      `update stint.concurrency_limit set override_max = 0, override_until = 'infinity' where name = $1`,
      [name],
    )
    expect(await scene.first(id)).toBe(`limit: ${name} 0/0: the limit lets no job start`)
  })

  test('order: an earlier job of an ordered key is retrying', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    await scene.limit(contract.queue, 100)
    const [one, id] = [
      await scene.enqueue(contract, { key: 'a' }),
      await scene.enqueue(contract, { key: 'a' }),
    ]
    await scene.query(`update stint.job set options = '{"ordered": "hold"}' where queue = $1`, [
      contract.queue,
    ])
    await scene.query(
      `update stint.job set state = 'retrying', run_at = stint.now() + interval '5 min' where id = $1`,
      [one],
    )
    expect(await scene.first(id)).toBe(
      `order: ordered key: …${one.slice(-4)} before it is retrying, due in 5m`,
    )
    expect((await scene.why(id)).claimable).toBe(false)
  })

  test('turn: what is ahead, of higher priority, and how fast the queue goes; a claim with room still takes the job', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    await scene.stint.enqueueMany(contract, Array(12).fill({}))
    await scene.stint.enqueueMany(contract, Array(3).fill({}), { priority: 5 })
    const id = await scene.enqueue(contract)
    expect(await scene.first(id)).toBe('turn: 15 ahead (3 of higher priority)')
    expect((await scene.why(id)).claimable).toBe(true)
    await scene.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, started)
       values (date_trunc('minute', stint.now()), $1, 'x', gen_random_uuid(), 1, 30000)`,
      [contract.queue],
    )
    expect(await scene.first(id)).toMatch(/^turn: 15 ahead \(3 of higher priority\), 1\d\d\/s → ≈ 1\d\dms$/)
    const keyed = await scene.enqueue(contract, { key: 'a' })
    for (const key of ['b', 'c']) await scene.enqueue(contract, { key })
    expect(await scene.first(keyed)).toBe("turn: its key's turn comes within 2 keys")
    const second = await scene.enqueue(contract, { key: 'a' })
    expect(await scene.first(second)).toBe("turn: 1 ahead within its key; its key's turn comes within 2 keys")
  })

  test('turn: a count ahead stops at 1,000', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    await scene.stint.enqueueMany(contract, Array(1_200).fill({}))
    expect(await scene.first(await scene.enqueue(contract))).toBe('turn: 1,000+ ahead')
  })

  test('visible: nothing stops it, or another session has locked its row', async () => {
    const contract = scene.contract()
    await scene.worker(contract)
    const id = await scene.enqueue(contract)
    expect(await scene.why(id)).toMatchObject({ claimable: true, first: null })
    const psql = new pg.Client({ connectionString: scene.url, application_name: 'psql' })
    await psql.connect()
    onTestFinished(() => psql.end())
    await psql.query('begin')
    await psql.query('select from stint.job where id = $1 for update', [id])
    // Younger than five seconds: it is not probed.
    expect(await scene.why(id)).toMatchObject({ claimable: true, first: null })
    await psql.query(`update stint.job set run_at = run_at - interval '1 min' where id = $1`, [id])
    await psql.query('commit')
    expect(await scene.why(id)).toMatchObject({ claimable: true, first: null })
    await psql.query('begin')
    await psql.query('select from stint.job where id = $1 for update', [id])
    const why = await scene.stint.why(id)
    expect(why).toMatchObject({ claimable: false, first: 'visible' })
    expect(why.predicates.at(-1)?.says).toMatch(/^row locked by pid \d+ "psql", idle in transaction \d+/)
    await psql.query('rollback')
    expect(await scene.why(id)).toMatchObject({ claimable: true, first: null })
  })
})
