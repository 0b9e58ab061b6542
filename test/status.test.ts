import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { middleOf } from '../src/core/histogram.ts'
import { defineJob, Stint } from '../src/index.ts'
import type { QueueFigures } from '../src/index.ts'
import { countsSql } from '../src/stats/read/queues/counts.sql.ts'
import { namesSql } from '../src/stats/read/queues/names.sql.ts'
import { render } from '../src/db/statement.ts'
import { connectTo, createEmptyDatabase, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'
import { givenMinute } from './console/numbers-given.ts'

const job = defineJob({ kind: 'probe' })

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

async function statusOf(queue: string): Promise<QueueFigures | undefined> {
  return (await stint.status()).queues.find((one) => one.queue === queue)
}

async function enqueueMany(
  count: number,
  options: Parameters<typeof stint.enqueueMany>[2],
): Promise<string[]> {
  const inputs = Array.from({ length: count }, () => null)
  return (await stint.enqueueMany(job, inputs, options)).jobs.map(({ id }) => id)
}

describe('status', () => {
  test('status() counts the jobs of a queue in each state, and has the age of the oldest ready job', async () => {
    const queue = randomUUID()
    await enqueueMany(2, { queue })
    const [old = ''] = await enqueueMany(3, { queue, key: 'acme', priority: -5 })
    await db.query(`update stint.job set run_at = now() - interval '1 hour' where id = $1`, [old])
    await enqueueMany(4, { queue, delay: '1h' })
    const retrying = await enqueueMany(1, { queue, delay: '2h' })
    await db.query(`update stint.job set state = 'retrying', epoch = 1 where id = any($1)`, [retrying])
    const waiting = await enqueueMany(6, { queue })
    await db.query(`update stint.job set state = 'waiting' where id = any($1)`, [waiting])
    const running = await enqueueMany(7, { queue })
    await db.query(
      `update stint.job set state = 'running', worker_id = gen_random_uuid(), lease_id = gen_random_uuid() where id = any($1)`,
      [running],
    )
    const dead = await enqueueMany(3, { queue })
    for (const id of dead) await bury(db, id)
    await stint.dead.discard(dead[0] ?? '')
    const status = await statusOf(queue)
    expect(status).toEqual({
      queue,
      ready: 5,
      scheduled: 4,
      retrying: 1,
      waiting: 6,
      // Nothing, or these: a client writes down what it enqueued within ten seconds.
      inPerSecond: expect.any(Number) as number,
      outPerSecond: 0,
      emptyInMs: null,
      running: 7,
      dead: 2,
      estimated: [],
      atLeast: [],
      pauses: [],
      oldestReadyMs: expect.any(Number) as number,
      slots: 0,
      workers: 0,
      failureRate: null,
      wait: { p50: null, p95: null, p99: null },
      run: { p50: null, p95: null, p99: null },
      spark: Array.from({ length: 60 }, () => 0),
      countedAt: expect.any(Date) as Date,
    })
    expect(status?.oldestReadyMs).toBeGreaterThanOrEqual(3_600_000)
    expect(status?.oldestReadyMs).toBeLessThan(3_700_000)
  })

  test('status() finds a queue that has jobs in only one state, for every state', async () => {
    const states = ['scheduled', 'waiting', 'ready', 'running', 'retrying', 'dead'] as const
    for (const state of states) {
      const [id = ''] = await enqueueMany(1, { queue: `only-${state}` })
      const lease = state === 'running' ? ', worker_id = gen_random_uuid(), lease_id = gen_random_uuid()' : ''
      if (state === 'dead') await bury(db, id)
      else await db.query(`update stint.job set state = '${state}', epoch = 1 ${lease} where id = $1`, [id])
    }
    await enqueueMany(1, { queue: 'only-keyed', key: 'acme' })
    for (const state of states) {
      const found = await statusOf(`only-${state}`)
      for (const other of states) expect(found?.[other]).toBe(other === state ? 1 : 0)
    }
    expect(await statusOf('only-keyed')).toMatchObject({ ready: 1 })
  })

  test('status() lists the live workers and the queues that they serve, also empty ones', async () => {
    const about = {
      host: 'api-3',
      pid: 812,
      version: 'v214',
      stintVersion: '1.2.3',
      queues: { 'served-and-empty': 20 },
      kinds: ['probe'],
    }
    const [live = { id: '' }] = await db.query<{ id: string }>(
      `insert into stint.worker (id, lease_until, about) values (gen_random_uuid(), now() + interval '30 s', $1) returning id`,
      [about],
    )
    await db.query(
      `insert into stint.worker (id, lease_until, lost_at) values (gen_random_uuid(), now(), now())`,
    )
    const { workers, asOf } = await stint.status()
    expect(workers).toEqual([
      {
        ...about,
        wanted: null,
        id: live.id,
        startedAt: expect.any(Date) as Date,
        leaseUntil: expect.any(Date) as Date,
      },
    ])
    expect(Math.abs(asOf.getTime() - Date.now())).toBeLessThan(60_000)
    expect(await statusOf('served-and-empty')).toMatchObject({
      ready: 0,
      oldestReadyMs: null,
      slots: 20,
      workers: 1,
    })
    await db.query('delete from stint.worker')
    expect((await stint.status()).workers).toEqual([])
  })

  test('status() has the last hour of each queue, also of one without jobs and workers', async () => {
    const queue = randomUUID()
    await givenMinute(db, { queue, ago: 2, succeeded: 6, failed: 2, wait: { '100': 8 }, run: { '120': 8 } })
    const status = await statusOf(queue)
    expect(status).toMatchObject({ ready: 0, dead: 0, workers: 0, failureRate: 0.25 })
    expect(status?.wait.p95).toBeCloseTo(middleOf(100))
    expect(status?.run.p95).toBeCloseTo(middleOf(120))
    expect(status?.spark.reduce((sum, jobs) => sum + jobs, 0)).toBe(6)
  })

  test('status() has the version of the schema, and fails if there is no schema', async () => {
    const { schemaVersion, pendingMigrations } = await stint.status()
    const names = readFileSync(join(import.meta.dirname, '../src/schema/migrations.ts'), 'utf8')
    expect(names).toContain(`${String(schemaVersion).padStart(4, '0')}_`)
    expect(pendingMigrations).toEqual([])
    const empty = await createEmptyDatabase()
    const client = new Stint({ connection: empty.url })
    await expect(client.status()).rejects.toMatchObject({ code: 'schema-missing' })
    await client.close()
    await empty.drop()
  })
})

describe('status() of large queues', () => {
  let many: TestDatabase
  beforeAll(async () => {
    many = await createTestDatabase()
    await many.query(`insert into stint.job (id, queue, kind, state, key, run_at)
      select gen_random_uuid(), 'large', 'k', 'ready', case when n % 3 = 0 then 'key' || n % 7 end, now()
        from generate_series(1, 90000) as n`)
    await many.query(`insert into stint.job (id, queue, kind, state, epoch, run_at)
      select gen_random_uuid(), 'large', 'k', case when n % 1000 = 0 then 'retrying' else 'scheduled' end::stint.job_state,
             1, now() + n * interval '1 second'
        from generate_series(1, 30000) as n`)
    await many.query(`insert into stint.dead
      (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason)
      select gen_random_uuid(), now(), now(), 1, 5, 5, 0, 0, 1, 'large', 'k', 'exhausted' from generate_series(1, 20000)`)
    await many.query(`insert into stint.job (id, queue, kind) values (gen_random_uuid(), 'small', 'k')`)
  })
  afterAll(() => many.drop())

  test('a count of status() stops at 10,000, and `atLeast` names its state', async () => {
    const client = new Stint({ connection: many.url })
    const { queues } = await client.status()
    expect(queues).toMatchObject([
      {
        queue: 'large',
        ready: 10_000,
        dead: 10_000,
        retrying: 10,
        waiting: 0,
        estimated: [],
        atLeast: ['scheduled', 'ready', 'retrying', 'dead'],
      },
      { queue: 'small', ready: 1, scheduled: 0, estimated: [], atLeast: [] },
    ])
    await client.close()
  })

  test('status() takes the estimate of the gauges above 10,000, and keeps complete counts', async () => {
    const client = new Stint({ connection: many.url })
    onTestFinished(() => client.close())
    await many.query(
      `insert into stint.queue_gauge (queue, scheduled, waiting, ready, running, retrying, estimated, kinds, priorities, top_keys)
       values ('large', 29900, 0, 90000, 0, 4, '{ready}', '{}', '{}', '[]'), ('small', 0, 0, 7, 0, 0, '{}', '{}', '{}', '[]')`,
    )
    await many.query('update stint.gauge_refresh set refreshed_at = now()')
    const { queues } = await client.status()
    await many.query('delete from stint.queue_gauge')
    expect(queues).toMatchObject([
      {
        queue: 'large',
        ready: 90_000,
        scheduled: 29_900,
        retrying: 10,
        dead: 10_000,
        estimated: ['scheduled', 'ready'],
        atLeast: ['retrying', 'dead'],
      },
      { queue: 'small', ready: 1, estimated: [], atLeast: [] },
    ])
  })

  test.each(['without statistics', 'with statistics'])(
    '%s every part of status() reads an index and stops at the limit',
    async (how) => {
      const client = await connectTo(many.url)
      if (how === 'with statistics') await client.query('analyze stint.job, stint.dead')
      const plan = async (text: string, values: string): Promise<string> => {
        // The plan for any queues: a prepared statement ends up with that one.
        await client.query('set plan_cache_mode = force_generic_plan')
        await client.query(`prepare probe as ${text}`)
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(
          `explain (analyze, costs off) execute probe (${values})`,
        )
        await client.query('deallocate probe')
        return rows.map((row) => row['QUERY PLAN']).join('\n')
      }
      for (const text of [
        await plan(render(countsSql, 'stint'), `'{large,small,none}', 10001`),
        await plan(render(namesSql, 'stint'), '500'),
      ]) {
        expect(text).not.toMatch(/Seq Scan|Sort Key: .*(run_at|priority)/)
        const most = Math.max(...[...text.matchAll(/Index.*rows=(\d+)/g)].map(([, rows]) => Number(rows)))
        expect(most).toBeLessThanOrEqual(10_001)
      }
    },
  )
})
