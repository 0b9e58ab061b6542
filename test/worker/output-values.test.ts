import { describe, expect, test } from 'vitest'
import { form } from '../support/form.ts'
import { newJob, startWorker, stored, workerScene } from '../support/workers.ts'
import { cycle, hugeLengthIn, outputsOf, revoked, throwing, unreadable } from './output-scene.ts'

const scene = workerScene()
const hugeLength = hugeLengthIn(form)

/** Functions, because some values are large. */
const hostileValues: Record<string, () => unknown> = {
  NUL: () => ({ 'key\0': 'a\0b' }),
  'NUL in text': () => 'a\0b',
  'half a surrogate pair': () => ['\ud800', '\udfff', 'x\ud83d'],
  'the other half in text': () => 'y\udc00',
  'pairs wherever it is cut': () => '😀'.repeat(200_000),
  'pairs beside where it is cut': () => `x${'😀'.repeat(200_000)}`,
  cycle: () => cycle,
  bigint: () => ({ n: 2n ** 80n }),
  'bare bigint': () => 1n,
  'not a number': () => [Number.NaN, Infinity, -0],
  'megabytes of text': () => 'x'.repeat(hugeLength),
  'a list without end': () => Array.from({ length: hugeLength / 50 }, (_, n) => n),
  'ten thousand levels': () => Array.from({ length: 10_000 }).reduce<unknown>((inner) => ({ inner }), 'deep'),
  'ten thousand lists': () => Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], 'deep'),
  'toJSON that throws': () => ({ toJSON: throwing }),
  'toJSON that gives itself': () => {
    const self = { toJSON: (): unknown => self }
    return self
  },
  'a getter that throws': () => Object.defineProperty({}, 'x', { get: throwing, enumerable: true }),
  'a Proxy that throws': () => ({ inside: unreadable }),
  'a bare Proxy that throws': () => [unreadable],
  'a revoked Proxy': () => [revoked],
  function: () => throwing,
  symbol: () => Symbol('s'),
  'a Map of Maps': () => new Map([[{}, new Map([['\0', new Set([1n])]])]]),
  bytes: () => Buffer.alloc(5_000_000),
  'an invalid date': () => new Date(Number.NaN),
  'an Error': () => new Error('m\0', { cause: cycle }),
  'megabytes of an Error': () => new Error('z'.repeat(hugeLength)),
  'null prototype': () => Object.assign(Object.create(null) as object, { __proto__: 1 }),
  __proto__: () => JSON.parse('{"__proto__": {"x": 1}, "constructor": null}') as unknown,
  nothing: () => undefined,
}

const endings = ['succeeded', 'failed', 'dead', 'cancelled', 'snoozed'] as const
const names = Object.keys(hostileValues)

describe.each(Object.entries(outputsOf(scene)))('%s', (_what, put) => {
  test('any value is accepted: every job ends at the first attempt, and the stored size is bounded', async () => {
    const job = newJob('put')
    // prefetch is 0: some values keep the process busy for seconds. A prefetched job that waits for that long would be
    // given back and claimed a second time.
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 4, prefetch: 0 } } },
      (one) => one.handle(job, (input, ctx) => put(hostileValues[input as string]?.(), ctx)),
    )
    const { jobs } = await scene.stint.enqueueMany(job, names, { attempts: 1 })
    const isOver = (id: string): boolean =>
      endings.some((name) => worker.told(name).some((fact) => fact.id === id))
    await worker.until(() => jobs.every(({ id }) => isOver(id)), 'every ending')
    await worker.worker.stop()
    expect(worker.told('trouble')).toEqual([])
    expect(worker.told('leaseLost')).toEqual([])
    for (const [index, { id }] of jobs.entries()) {
      const kept = await stored(scene, id)
      expect({ name: names[index], epoch: kept.epoch }).toEqual({ name: names[index], epoch: 1 })
      expect(JSON.stringify(kept).length).toBeLessThan(400_000)
      const [said] = await scene.db.query<{ bytes: number }>(
        `select (select coalesce(sum(pg_column_size(log.*)), 0) from stint.log where job_id = $1)::integer
              + (select coalesce(sum(pg_column_size(attempt.*)), 0) from stint.attempt where job_id = $1)::integer as bytes`,
        [id],
      )
      expect(said?.bytes).toBeLessThan(100_000)
    }
  })
})
