import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { defineJob, defineLimit } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { claim, claimLanes, claimLimited } from '../../src/jobs/claim.ts'
import { openDatabase } from '../support/open-database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { form } from '../support/form.ts'
import {
  eventually,
  gate,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

interface Input {
  key: string
}

function newKeyed(): JobContract<string, Input, Input> {
  return defineJob({
    kind: newName('work'),
    queue: newName(),
    key: (input) => (input as Input).key,
    retry: { backoff: () => 1 },
  }) as JobContract<string, Input, Input>
}

const reason = 'the provider is down'

async function running(queue: string): Promise<number> {
  const [row] = await scene.db.query<{ jobs: number }>(
    `select count(*)::integer as jobs from stint.job where state = 'running' and queue = $1`,
    [queue],
  )
  return row?.jobs ?? 0
}

test('a paused queue starts no job, keeps its jobs over restarts of all workers, and resumes at once', async () => {
  const job = newJob('mail')
  const { queues } = scene.stint
  await queues.pause(job.queue, { reason })
  const { id } = await scene.stint.enqueue(job, {})
  for (let restart = 0; restart < 2; restart++) {
    const worker = await startFor(scene, job, () => undefined)
    const [fact] = await worker.tells('paused')
    expect(fact).toEqual({ queue: job.queue, kind: null, key: null })
    await worker.worker.stop()
    expect(worker.told('started')).toEqual([])
  }
  const worker = await startFor(scene, job, () => undefined, { pollFloor: '1s' })
  await worker.tells('paused')
  await queues.resume(job.queue)
  await worker.hears('succeeded', id)
  expect(worker.told('resumed')).toEqual([{ queue: job.queue, kind: null, key: null }])
  expect(worker.told('started')).toHaveLength(1)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1 })
})

test('running jobs go on in a paused queue, and jobs in hand are given back without a lost attempt', async () => {
  const job = newJob('slow')
  const end = gate()
  let isQuick = true
  const worker = await startFor(scene, job, () => (isQuick ? undefined : end.opened), {
    queues: { [job.queue]: { concurrency: 1, prefetch: 10 } },
  })
  // A worker claims in advance once it knows how long jobs take.
  const inputs = (length: number): object[] => Array.from({ length }, () => ({}))
  await scene.stint.enqueueMany(job, inputs(20))
  await worker.tells('succeeded', undefined, 20)
  isQuick = false
  await scene.stint.enqueueMany(job, inputs(5))
  await eventually(async () => (await running(job.queue)) > 1, 'jobs in hand')
  await scene.stint.queues.pause(job.queue, { reason })
  const [released] = await worker.tells('released', ({ reason: why }) => why === 'its queue was paused')
  end.open(undefined)
  await worker.tells('succeeded', undefined, 21)
  expect(worker.told('started')).toHaveLength(21)
  expect(await stored(scene, released?.id ?? '')).toMatchObject({ state: 'ready', attempt: 0 })
  await scene.stint.queues.resume(job.queue)
  await worker.tells('succeeded', undefined, 25)
  expect(await stored(scene, released?.id ?? '')).toMatchObject({ state: 'succeeded', attempt: 1 })
})

test('a paused key does not hold its queue, and runs when it is resumed', async () => {
  const job = newKeyed()
  const { queues } = scene.stint
  await queues.pause(job.queue, { key: 'acme', reason })
  const keys: string[] = []
  const worker = await startFor(scene, job, (input) => void keys.push((input as Input).key))
  await worker.tells('paused')
  await scene.stint.enqueueMany(job, [{ key: 'acme' }, { key: 'bolt' }, { key: 'acme' }, { key: 'cord' }])
  await worker.tells('succeeded', undefined, 2)
  expect(keys.sort()).toEqual(['bolt', 'cord'])
  expect(worker.told('paused')).toEqual([{ queue: job.queue, kind: null, key: 'acme' }])
  await queues.resume(job.queue, { key: 'acme' })
  await worker.tells('succeeded', undefined, 4)
})

test('a paused kind does not hold its queue, and runs when it is resumed', async () => {
  const queue = newName()
  const [video, mail] = ['video', 'mail'].map((kind) => defineJob({ kind: newName(kind), queue })) as [
    JobContract,
    JobContract,
  ]
  await scene.stint.queues.pause(queue, { kind: video.kind, reason })
  const worker = await startWorker(scene, { queues: { [queue]: 2 } }, (one) =>
    one.handle(video, () => undefined).handle(mail, () => undefined),
  )
  await scene.stint.enqueueMany(video, [{}, {}])
  const { id } = await scene.stint.enqueue(mail, {})
  await worker.hears('succeeded', id)
  expect(worker.told('started').map(({ kind }) => kind)).toEqual([mail.kind])
  await scene.stint.queues.resume(queue, { kind: video.kind })
  await worker.tells('succeeded', undefined, 3)
})

test('a pause with an end ends by itself on time, for a queue, a kind and a key', async () => {
  const [job, kinds, keyed] = [newJob('mail'), newJob('kinds'), newKeyed()]
  // With a poll of 30 s, only a worker that wakes when the pause ends is on time.
  const queues = { [job.queue]: 2, [kinds.queue]: 2, [keyed.queue]: 2 }
  const now = Date.now()
  const until = new Date(now + 1_500)
  await scene.stint.queues.pause(job.queue, { until, reason })
  await scene.stint.queues.pause(kinds.queue, { kind: kinds.kind, until, reason })
  await scene.stint.queues.pause(keyed.queue, { key: 'acme', until, reason })
  await scene.stint.enqueue(job, {})
  await scene.stint.enqueue(kinds, {})
  await scene.stint.enqueue(keyed, { key: 'acme' })
  const starts: number[] = []
  const handler = (): void => void starts.push(Date.now())
  const worker = await startWorker(scene, { queues, pollFloor: '30s' }, (one) =>
    one.handle(job, handler).handle(kinds, handler).handle(keyed, handler),
  )
  await worker.tells('succeeded', undefined, 3)
  for (const at of starts) {
    expect(at).toBeGreaterThanOrEqual(until.getTime())
    expect(at).toBeLessThan(until.getTime() + 10_000)
  }
  expect(worker.told('resumed')).toHaveLength(3)
  expect((await scene.stint.queues.get(job.queue)).pauses).toEqual([])
})

test('a paused queue holds no slots from others, in any order of queues', async () => {
  const [high, low] = [newJob('high'), newJob('low')]
  await scene.stint.queues.pause(high.queue, { reason })
  await scene.stint.enqueue(high, {})
  const options = { queues: { [high.queue]: 1, [low.queue]: 1 }, concurrency: 1, order: 'strict' } as const
  const worker = await startWorker(scene, options, (one) =>
    one.handle(high, () => undefined).handle(low, () => undefined),
  )
  await worker.tells('paused')
  const { id } = await scene.stint.enqueue(low, {})
  await worker.hears('succeeded', id)
})

test('a claim that begins after the commit of a pause takes nothing, and none is lost by the race', async () => {
  const [plain, keyed] = [newJob('race'), newKeyed()]
  const limited = newKeyed()
  await startWorker(
    scene,
    {
      queues: { [limited.queue]: 1 },
      flow: [defineLimit({ name: newName('limit'), covers: [{ queue: limited.queue }], max: 1_000 })],
    },
    (one) => one.handle(limited, () => undefined),
  ).then(({ worker }) => worker.stop())
  const db = openDatabase(scene.db)
  const many = Array.from({ length: 400 }, () => ({ key: 'k' }))
  await scene.stint.enqueueMany(
    plain,
    many.map(() => ({})),
  )
  await scene.stint.enqueueMany(keyed, many)
  await scene.stint.enqueueMany(limited, many)
  const floor = { runAt: '-infinity', id: '00000000-0000-0000-0000-000000000000' }
  const claimOne = async (job: JobContract | typeof keyed): Promise<number> => {
    const request = { worker: randomUUID(), lease: randomUUID(), queue: job.queue, limit: 2 }
    const kinds = JSON.stringify({ [job.kind]: 1 })
    const lane = { key: 'k', priority: 0, floor, take: 2 }
    if (job === plain) return (await claim(db, { ...request, kinds, priority: 0, floor })).length
    if (job === keyed) return (await claimLanes(db, { ...request, kinds, lanes: [lane] })).length
    const { jobs } = await claimLimited(db, { ...request, kinds, lanes: [{ ...lane, isOrdered: false }] })
    return jobs.length
  }
  for (const job of [plain, keyed, limited]) {
    let taken = 0
    let paused = false
    let generation = 0
    let late = 0
    let isOver = false
    const racers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const [wasPaused, before] = [paused, generation]
        const count = await claimOne(job)
        taken += count
        // It began after the pause was committed, and ended before the pause did.
        if (wasPaused && generation === before && count > 0) late++
      }
    })
    for (let round = 0; round < 15; round++) {
      await scene.stint.queues.pause(job.queue, { reason })
      paused = true
      generation++
      expect(await claimOne(job)).toBe(0)
      paused = false
      generation++
      await scene.stint.queues.resume(job.queue)
    }
    isOver = true
    await Promise.all(racers)
    expect(late).toBe(0)
    expect(taken).toBeGreaterThan(0)
    expect(await running(job.queue)).toBe(taken)
  }
})

// Not in the lanes: with a pooler or without NOTIFY the worker sends other statements. It counts statements of a time, which a
// busy machine stretches for one worker and not for the other.
test.skipIf(process.env['STINT_TEST_LANE'] !== undefined || form === 'short')(
  'a paused queue with many ready jobs costs no more statements than an empty one',
  async () => {
    const [empty, full] = [newKeyed(), newKeyed()]
    await scene.stint.queues.pause(full.queue, { reason })
    const inputs = Array.from({ length: 3_000 }, (_, n) => ({ key: `k${n}` }))
    await scene.stint.enqueueMany(full, inputs)
    const plain = defineJob({ kind: full.kind, queue: full.queue })
    await scene.stint.enqueueMany(plain, inputs)
    const watch = async (job: typeof empty): Promise<{ statements: () => number }> => {
      const proxy = await startFaultProxy(scene.db.url)
      const options = { connection: proxy.url, pollFloor: '500ms', upkeep: false } as const
      await startFor(scene, job, () => undefined, options)
      return { statements: () => proxy.statements }
    }
    const watched = [await watch(empty), await watch(full)]
    const sent = async (polls: number): Promise<number[]> => {
      const before = watched.map(({ statements }) => statements())
      await eventually(
        () => Promise.resolve((watched[0]?.statements() ?? 0) - (before[0] ?? 0) >= polls),
        'polls of the empty queue',
      )
      return watched.map(({ statements }, n) => statements() - (before[n] ?? 0))
    }
    // The polls of both slow down to their floor first; those of the one that started last take longer.
    await sent(6)
    const counts: number[][] = []
    // A poll or a heartbeat of either may fall just out of the window.
    const isNoMore = ([ofEmpty = 0, ofFull = Infinity]: number[]): boolean => ofFull <= ofEmpty + 3
    for (let window = 0; window < 5 && !counts.some(isNoMore); window++) counts.push(await sent(6))
    expect(counts.filter(isNoMore), JSON.stringify(counts)).toHaveLength(1)
    expect(counts.at(-1)?.[1]).toBeGreaterThan(0)
  },
)

test('many jobs of a paused kind are read past once, and not by every claim', async () => {
  const queue = newName()
  const [video, mail] = ['video', 'mail'].map((kind) => defineJob({ kind: newName(kind), queue })) as [
    JobContract,
    JobContract,
  ]
  await scene.stint.queues.pause(queue, { kind: video.kind, reason })
  await scene.stint.enqueueMany(
    video,
    Array.from({ length: 30_000 }, () => ({})),
  )
  await scene.db.query('vacuum analyze stint.job')
  const worker = await startWorker(scene, { queues: { [queue]: 2 } }, (one) =>
    one.handle(video, () => undefined).handle(mail, () => undefined),
  )
  const reads = async (): Promise<number> => {
    await scene.db.query('select pg_stat_force_next_flush()').catch(() => undefined)
    const [row] = await scene.db.query<{ reads: number }>(
      `select (seq_tup_read + idx_tup_fetch)::float8 as reads from pg_stat_user_tables where relname = 'job' and schemaname = 'stint'`,
    )
    return row?.reads ?? 0
  }
  const first = await scene.stint.enqueue(mail, {})
  await worker.hears('succeeded', first.id)
  const before = await reads()
  let surveys = performance.now()
  for (let n = 0; n < 40; n++) {
    const { id } = await scene.stint.enqueue(mail, {})
    await worker.hears('succeeded', id)
  }
  surveys = performance.now() - surveys
  const read = (await reads()) - before
  // Each survey reads past them, in at most a twentieth of the time; if each claim did too, these were 1.2 million rows.
  expect(read).toBeLessThan(30_000 * (4 + surveys / 200))
})
