import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import type { QueueStatus } from '../src/index.ts'
import { countsSql } from '../src/stats/read/queues/counts.sql.ts'
import { namesSql } from '../src/stats/read/queues/names.sql.ts'
import { render } from '../src/db/statement.ts'
import { connectTo, createEmptyDatabase, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'

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

async function statusOf(queue: string): Promise<QueueStatus | undefined> {
  return (await stint.status()).queues.find((one) => one.queue === queue)
}

async function enqueueMany(
  count: number,
  options: Parameters<typeof stint.enqueueMany>[2],
): Promise<string[]> {
  const inputs = Array.from({ length: count }, () => null)
  return (await stint.enqueueMany(job, inputs, options)).jobs.map(({ id }) => id)
}

function exactly(count: number): { count: number; isExact: true } {
  return { count, isExact: true }
}

describe('status', () => {
  test('counts the jobs of a queue in each state, and says how long the oldest has waited', async () => {
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
      ready: exactly(5),
      scheduled: exactly(4),
      retrying: exactly(1),
      waiting: exactly(6),
      // Nothing, or these: a client writes down what it enqueued within ten seconds.
      inPerSecond: expect.any(Number) as number,
      outPerSecond: 0,
      emptyInMs: null,
      running: exactly(7),
      dead: exactly(2),
      oldestReadyMs: expect.any(Number) as number,
    })
    expect(status?.oldestReadyMs).toBeGreaterThanOrEqual(3_600_000)
    expect(status?.oldestReadyMs).toBeLessThan(3_700_000)
  })

  test('finds a queue that has jobs in one state only, whichever that is', async () => {
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
      for (const other of states) expect(found?.[other]).toEqual(exactly(other === state ? 1 : 0))
    }
    expect(await statusOf('only-keyed')).toMatchObject({ ready: exactly(1) })
  })

  test('names the live workers and what they serve, also where nothing waits there', async () => {
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
      { ...about, id: live.id, startedAt: expect.any(Date) as Date, leaseUntil: expect.any(Date) as Date },
    ])
    expect(Math.abs(asOf.getTime() - Date.now())).toBeLessThan(60_000)
    expect(await statusOf('served-and-empty')).toMatchObject({ ready: exactly(0), oldestReadyMs: null })
    await db.query('delete from stint.worker')
    expect((await stint.status()).workers).toEqual([])
  })

  test('knows the version of the schema, and says where there is none', async () => {
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

describe('with more than people count', () => {
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

  test('a count stops at 10,000 and says so', async () => {
    const client = new Stint({ connection: many.url })
    const { queues } = await client.status()
    expect(queues).toMatchObject([
      {
        queue: 'large',
        ready: { count: 10_000, isExact: false },
        dead: { count: 10_000, isExact: false },
        scheduled: { isExact: false },
        retrying: { count: 10, isExact: false },
        waiting: exactly(0),
      },
      { queue: 'small', ready: exactly(1), scheduled: exactly(0) },
    ])
    await client.close()
  })

  test.each(['without statistics', 'with statistics'])(
    '%s every part reads an index and stops',
    async (how) => {
      const client = await connectTo(many.url)
      if (how === 'with statistics') await client.query('analyze stint.job, stint.dead')
      const plan = async (text: string, values: string): Promise<string> => {
        // The plan for any queues, which is what a prepared statement ends up with.
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
