import { expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { pruneExpired } from '../../src/worker/upkeep/prune/expired.ts'
import { defineBreaker, defineJob } from '../../src/index.ts'
import type { BreakerDefinition, JobContract } from '../../src/index.ts'
import { gate, newName, startWorker, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

class Down extends Error {
  readonly code = 'ECONNREFUSED'
}

/** A contract behind a breaker of its own, with a queue of its own. */
function newScene(definition: Partial<BreakerDefinition> = {}, attempts = 5) {
  const name = newName('breaker')
  const breaker = defineBreaker({
    name,
    window: '10s',
    least: 4,
    open: '300ms',
    mostOpen: '1s',
    probes: 2,
    ...definition,
  })
  const job = defineJob({
    kind: newName('call'),
    queue: newName(),
    breakers: [name],
    retry: { attempts, backoff: () => 30 },
  })
  return { name, breaker, job }
}

/** A downstream that can be switched off. */
class Downstream {
  isDown = false
  calls = 0

  call(): void {
    this.calls++
    if (this.isDown) throw new Down('connect ECONNREFUSED 10.0.0.7:25')
  }
}

function serve(
  { breaker, job }: ReturnType<typeof newScene>,
  downstream: Downstream,
  concurrency = 4,
): Promise<TestWorker> {
  return startWorker(scene, { queues: { [job.queue]: concurrency }, flow: [breaker] }, (worker) =>
    worker.handle(job, () => {
      downstream.call()
    }),
  )
}

function enqueue(job: JobContract, count: number): Promise<unknown> {
  return scene.stint.enqueueMany(
    job,
    Array.from({ length: count }, () => null),
  )
}

test('a breaker opens when its jobs fail, is probed, and closes when the downstream is back', async () => {
  const given = newScene({}, 50)
  const downstream = new Downstream()
  downstream.isDown = true
  const worker = await serve(given, downstream)
  await enqueue(given.job, 20)
  const [opened] = await worker.tells('breaker', ({ state }) => state === 'open')
  expect(opened).toMatchObject({ name: given.name, was: 'closed' })
  expect(opened?.cause?.error).toContain('ECONNREFUSED')
  expect(opened?.cause?.of).toBeGreaterThanOrEqual(4)
  downstream.isDown = false
  await worker.tells('breaker', ({ state }) => state === 'closed')
  await worker.tells('succeeded', undefined, 20)
  expect(worker.told('breaker').map(({ was, state }) => `${was} ${state}`)).toEqual([
    'closed open',
    'open half-open',
    'half-open closed',
  ])
  const found = await scene.stint.breakers.get(given.name)
  expect(found).toMatchObject({ state: 'closed', opens: 0, cause: null, changes: 3 })
  expect(found?.recent.map(({ state }) => state)).toEqual(['closed', 'half-open', 'open'])
})

test('while the downstream stays down only probes run, no attempt is burned, and it opens for twice as long', async () => {
  const given = newScene({ open: '200ms', mostOpen: '500ms', probes: 1 }, 2)
  const downstream = new Downstream()
  const worker = await serveOpen(given, downstream)
  const ids: string[] = []
  for (let n = 0; n < 8; n++) ids.push((await scene.stint.enqueue(given.job, null)).id)
  await worker.tells('breaker', ({ was, state }) => was === 'half-open' && state === 'open', 3)
  // One probe each time; a fourth may be under way.
  expect(downstream.calls).toBeLessThanOrEqual(4)
  for (const id of ids) expect(await stored(scene, id)).toMatchObject({ attempt: 0 })
  const { recent = [] } = (await scene.stint.breakers.get(given.name)) ?? {}
  const opened = recent.filter(({ was, state }) => was === 'half-open' && state === 'open').reverse()
  const probed = recent.filter(({ state }) => state === 'half-open').reverse()
  const waits = opened.flatMap(({ at }, index) => {
    const next = probed[index + 1]
    return next === undefined ? [] : [next.at.getTime() - at.getTime()]
  })
  // After the first failed probe 400 ms, then 500 ms, the most.
  expect(waits[0]).toBeGreaterThanOrEqual(399)
  expect(waits[1]).toBeGreaterThanOrEqual(499)
  downstream.isDown = false
  await worker.tells('succeeded', undefined, 8)
})

/** A worker whose breaker is opened by hand in the database, as if its jobs had failed: the downstream is down. */
async function serveOpen(given: ReturnType<typeof newScene>, downstream: Downstream): Promise<TestWorker> {
  downstream.isDown = true
  const { name, windowMs, share, least, openMs, mostOpenMs, probes } = given.breaker
  await scene.db.query(
    `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, state, opens, probe_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'open', 1, stint.now() + interval '100 milliseconds')`,
    [name, windowMs, share, least, openMs, mostOpenMs, probes, given.breaker.counts],
  )
  return serve(given, downstream)
}

test('a failure that ends while the breaker is open burns no attempt, also the last one', async () => {
  const given = newScene({ least: 3, open: '1m', mostOpen: '1m' }, 2)
  const slow = gate()
  const begun = gate()
  const worker = await startWorker(
    scene,
    { queues: { [given.job.queue]: 4 }, flow: [given.breaker] },
    (one) =>
      one.handle(given.job, async (input) => {
        if (input === 'slow') {
          begun.open(undefined)
          await slow.opened
        }
        throw new Down('down')
      }),
  )
  const { id } = await scene.stint.enqueue(given.job, 'slow', { attempts: 2 })
  await begun.opened
  await enqueue(given.job, 4)
  await worker.tells('breaker', ({ state }) => state === 'open')
  // Its last attempt: it would be dead.
  await scene.db.query('update stint.job set attempt = 2 where id = $1', [id])
  slow.open(undefined)
  await worker.hears('failed', id)
  const job = await stored(scene, id)
  expect(job.attempt).toBeLessThan(2)
  expect(['ready', 'retrying']).toContain(job.state)
})

test('jobs of other kinds in the queue run on while a breaker is open', async () => {
  const given = newScene({ open: '1m', mostOpen: '1m' })
  const other = defineJob({ kind: newName('other'), queue: given.job.queue })
  await (await serve(given, new Downstream())).worker.stop()
  await scene.stint.breakers.open(given.name, { for: '1m', reason: 'test' })
  const ran: string[] = []
  const worker = await startWorker(scene, { queues: { [other.queue]: 2 }, flow: [given.breaker] }, (one) =>
    one.handle(given.job, () => void ran.push('held')).handle(other, () => void ran.push('other')),
  )
  await enqueue(given.job, 3)
  await enqueue(other, 3)
  await worker.tells('succeeded', undefined, 3)
  expect(ran).toEqual(['other', 'other', 'other'])
})

test('a breaker that a person opened stays open over restarts and is not probed; reset lets its jobs run', async () => {
  const given = newScene()
  const downstream = new Downstream()
  const first = await serve(given, downstream)
  const forced = await scene.stint
    .as({ actor: 'ana' })
    .breakers.open(given.name, { for: '10m', reason: 'they move' })
  expect(forced).toMatchObject({ state: 'open', forced: { by: 'ana', reason: 'they move' } })
  await first.worker.stop()
  const second = await serve(given, downstream)
  await enqueue(given.job, 3)
  await expect(scene.stint.breakers.probe(given.name)).rejects.toMatchObject({ code: 'state-changed' })
  // The worker has surveyed twice after the enqueue.
  for (let polls = 0; polls < 2; polls++) {
    const other = newScene()
    const done = await serve(other, new Downstream())
    await enqueue(other.job, 1)
    await done.tells('succeeded')
  }
  expect(downstream.calls).toBe(0)
  await scene.stint.as({ actor: 'bo' }).breakers.reset(given.name, { reason: 'moved' })
  await second.tells('succeeded', undefined, 3)
  const { entries } = await scene.stint.audit.list({ target: given.name })
  expect(entries.map(({ action, actor }) => `${action} ${actor}`).sort()).toEqual([
    'breaker.open ana',
    'breaker.reset bo',
  ])
})

test('a breaker that a person closed does not open, however many fail', async () => {
  const given = newScene({ least: 2 }, 2)
  const downstream = new Downstream()
  const worker = await serve(given, downstream)
  await scene.stint.breakers.close(given.name, { for: '10m', reason: 'only old addresses' })
  downstream.isDown = true
  await enqueue(given.job, 10)
  await worker.tells('dead', undefined, 10)
  expect(worker.told('breaker')).toEqual([])
  expect(await scene.stint.breakers.get(given.name)).toMatchObject({
    state: 'closed',
    forced: { by: 'code', reason: 'only old addresses' },
  })
})

test('failures of classes that a breaker does not count do not open it', async () => {
  const given = newScene({ least: 2, counts: ['timeout'] }, 1)
  const downstream = new Downstream()
  downstream.isDown = true
  const worker = await serve(given, downstream)
  await enqueue(given.job, 10)
  await worker.tells('dead', undefined, 10)
  await worker.worker.stop()
  const found = await scene.stint.breakers.get(given.name)
  expect(found).toMatchObject({ state: 'closed', seen: { ok: 0, failed: 0 }, counts: ['timeout'] })
})

test('probe() has an open breaker tried before its time', async () => {
  const given = newScene({ open: '10m', mostOpen: '10m', least: 2 }, 9)
  const downstream = new Downstream()
  downstream.isDown = true
  const worker = await serve(given, downstream)
  await enqueue(given.job, 4)
  await worker.tells('breaker', ({ state }) => state === 'open')
  downstream.isDown = false
  await scene.stint.breakers.probe(given.name)
  await worker.tells('breaker', ({ state }) => state === 'closed')
  await worker.tells('succeeded', undefined, 4)
})

test('jobs under a limit, and with keys, probe a breaker too', async () => {
  const name = newName('breaker')
  const breaker = defineBreaker({ name, least: 2, open: '200ms', probes: 2 })
  const job = defineJob({
    kind: newName('keyed'),
    queue: newName(),
    key: (input) => String(input),
    order: 'key',
    breakers: [name],
    retry: { attempts: 50, backoff: () => 30 },
  })
  const downstream = new Downstream()
  downstream.isDown = true
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 }, flow: [breaker] }, (one) =>
    one.handle(job, () => {
      downstream.call()
    }),
  )
  await scene.stint.enqueueMany(job, ['a', 'a', 'b', 'b', 'c', 'c'])
  await worker.tells('breaker', ({ state }) => state === 'open')
  downstream.isDown = false
  await worker.tells('succeeded', undefined, 6)
})

test('upkeep removes outcomes that no window reaches, and changes of 30 days ago', async () => {
  const given = newScene()
  const worker = await serve(given, new Downstream())
  await scene.db.query(
    `insert into stint.breaker_count (name, slot, process, flush, ok, failed)
     values ($1, stint.now() - interval '5 minutes', gen_random_uuid(), 1, 1, 1), ($1, stint.now(), gen_random_uuid(), 1, 5, 0)`,
    [given.name],
  )
  await scene.db.query(
    `insert into stint.breaker_change (name, at, was, state)
     values ($1, stint.now() - interval '31 days', 'closed', 'open'), ($1, stint.now() - interval '29 days', 'open', 'closed')`,
    [given.name],
  )
  await worker.worker.stop()
  const db = new Database({
    url: scene.db.url,
    schema: 'stint',
    poolSize: 1,
    deadlineMs: 10_000,
    applicationName: 'test',
  })
  onTestFinished(() => db.close())
  await pruneExpired(db, { signal: new AbortController().signal, onPassedBy: () => undefined })
  const counts = await scene.db.query('select ok from stint.breaker_count where name = $1', [given.name])
  expect(counts).toEqual([{ ok: '5' }])
  const { recent } = (await scene.stint.breakers.get(given.name)) ?? {}
  expect(recent).toHaveLength(1)
})
