import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { KindList, LeaseList, SystemReport, WorkerList } from '../../src/server/api/system.ts'
import { latestVersion } from '../../src/schema/migrations.ts'
import { gate, newJob, startFor, workerScene } from '../support/workers.ts'
import { givenWorker } from './numbers-given.ts'
import { anything, call, openConsole, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }
const scene = workerScene()

async function workers(): Promise<WorkerList> {
  return WorkerList.parse((await call(openConsole(scene.db.url), 'GET /v1/workers', viewer)).body)
}

async function leases(): Promise<LeaseList> {
  return LeaseList.parse((await call(openConsole(scene.db.url), 'GET /v1/leases', viewer)).body)
}

describe('workers', () => {
  test('live workers are shown with the jobs they hold, and their leases by expiry', async () => {
    const contract = newJob('hold')
    const [begun, goOn] = [gate(), gate()]
    const worker = await startFor(scene, contract, async (_, ctx) => {
      await ctx.progress(40, 'half way')
      begun.open(undefined)
      await goOn.opened
    })
    const { id } = await scene.stint.enqueue(contract, null, { key: 'acme' })
    await begun.opened
    const seen = await workers()
    const own = seen.items.find(({ queues }) => contract.queue in queues)
    expect(own).toMatchObject({
      status: 'active',
      running: 1,
      pid: process.pid,
      kinds: ['hold'],
      queues: { [contract.queue]: 4 },
      death: null,
    })
    const { items, more } = await leases()
    expect(more).toBe(false)
    expect(items.find(({ jobId }) => jobId === id)).toMatchObject({
      kind: 'hold',
      queue: contract.queue,
      key: 'acme',
      workerId: own?.id,
      attempt: 1,
      epoch: 1,
      leaseUntil: expect.any(String) as string,
      cancelRequestedAt: null,
    })
    goOn.open(undefined)
    await worker.hears('succeeded', id)
    expect((await leases()).items.map(({ jobId }) => jobId)).not.toContain(id)
  })

  test('late and lost workers are told apart from those that stopped in order', async () => {
    const late = await givenWorker(scene.db, { silentFor: '26 seconds' })
    const killed = await givenWorker(scene.db, { lost: { ago: '5 minutes', death: 'killed by SIGKILL' } })
    const silent = await givenWorker(scene.db, { lost: { ago: '5 minutes', inGoodOrder: false } })
    const stopped = await givenWorker(scene.db, { lost: { ago: '5 minutes', inGoodOrder: true } })
    const { items } = await workers()
    const statusOf = (id: string): string | undefined => items.find((one) => one.id === id)?.status
    expect([late, killed, silent, stopped].map(statusOf)).toEqual(['late', 'lost', 'lost', undefined])
    expect(items.find(({ id }) => id === killed)?.death).toBe('killed by SIGKILL')
    expect(items.find(({ id }) => id === killed)?.rssBytes).toBe(1_000_000)
  })

  test('workers are shown with the leader and the upkeep services', async () => {
    const leader = await givenWorker(scene.db)
    await scene.db.query(
      `insert into stint.leader (name, holder, term, until) values ('upkeep', $1, 1, now() + interval '1 minute')
       on conflict (name) do update set holder = excluded.holder, until = excluded.until, term = leader.term + 1`,
      [leader],
    )
    await scene.db.query(
      `insert into stint.service (name, last_ok_at, took_ms) values ('sweep-test', now(), 7) on conflict do nothing`,
    )
    const seen = await workers()
    expect(seen.leader?.workerId).toBe(leader)
    expect(seen.items.filter(({ isLeader }) => isLeader).map(({ id }) => id)).toEqual([leader])
    expect(seen.services.find(({ name }) => name === 'sweep-test')).toMatchObject({
      tookMs: 7,
      lastError: null,
    })
  })
})

describe('leases', () => {
  test('leases are at most 200, those without a worker first, then by expiry', async () => {
    const soon = await givenWorker(scene.db, { silentFor: '20 seconds' })
    const later = await givenWorker(scene.db, { silentFor: '1 second' })
    const queue = randomUUID()
    const give = (worker: string, count: number): Promise<unknown> =>
      scene.db.query(
        `insert into stint.job (id, queue, kind, state, worker_id, lease_id, started_at)
         select gen_random_uuid(), $1, 'k', 'running', $2, gen_random_uuid(), now() from generate_series(1, $3)`,
        [queue, worker, count],
      )
    await give(later, 150)
    await give(soon, 100)
    await give(randomUUID(), 1)
    const { items, more } = await leases()
    expect(items).toHaveLength(200)
    expect(more).toBe(true)
    expect(items[0]?.leaseUntil).toBeNull()
    const ends = items.slice(1).map(({ leaseUntil }) => leaseUntil ?? '')
    expect(ends).toEqual([...ends].sort())
    expect(items.filter(({ workerId }) => workerId === soon)).toHaveLength(100)
    await scene.db.query('delete from stint.job where queue = $1', [queue])
  })

  test('leases of queues that a caller may not see are left out', async () => {
    const queue = randomUUID()
    await scene.db.query(
      `insert into stint.job (id, queue, kind, state, worker_id, lease_id) values (gen_random_uuid(), $1, 'k', 'running', gen_random_uuid(), gen_random_uuid())`,
      [queue],
    )
    const served = openConsole(scene.db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'viewer', can: (_, of) => of?.queue !== queue }),
    })
    const { items } = LeaseList.parse((await call(served, 'GET /v1/leases')).body)
    expect(items.map((item) => item.queue)).not.toContain(queue)
    expect((await leases()).items.map((item) => item.queue)).toContain(queue)
  })
})

describe('system', () => {
  test('the system report has the versions and the state of the console', async () => {
    const { body } = await call(openConsole(scene.db.url), 'GET /v1/system', viewer)
    const report = SystemReport.parse(body)
    expect(report).toMatchObject({
      pendingMigrations: [],
      console: { maxConnections: 4, viewers: 0, refusedByLimit: 0 },
    })
    expect(report.postgresVersion).toMatch(/^\d+/)
    expect(report.schemaVersion).toBe(latestVersion)
    expect(report.console.connections).toBeGreaterThan(0)
    expect(report.console.connections).toBeLessThanOrEqual(4)
  })

  test('the system report lists kinds by their contracts, with a JSON Schema where the library provides one', async () => {
    const typedByZod = defineJob({
      kind: 'b.zod',
      input: z.object({ to: z.email(), at: z.string().default('now') }),
    })
    const { body } = await call(
      openConsole(scene.db.url, { contracts: [typedByZod, anything] }),
      'GET /v1/kinds',
      viewer,
    )
    const { items } = KindList.parse(body)
    expect(items.map(({ kind }) => kind)).toEqual(['any.thing', 'b.zod'])
    expect(items[0]?.jsonSchema).toBeNull()
    // What a producer has to send: fields with a default may be left out.
    expect(items[1]?.jsonSchema).toMatchObject({
      type: 'object',
      properties: { to: { type: 'string', format: 'email' } },
      required: ['to'],
    })
  })
})
