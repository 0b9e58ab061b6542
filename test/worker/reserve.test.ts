import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { gate, newName, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

interface Input {
  name: string
  key?: string
}

function newWork(): JobContract<string, Input, Input> {
  return defineJob({
    kind: newName('work'),
    queue: newName(),
    key: (input) => (input as Input).key,
  }) as JobContract<string, Input, Input>
}

/** Counts handlers that run, and lets them end together. */
class Held {
  readonly running = new Set<string>()
  readonly #end = gate()

  async hold(name: string): Promise<void> {
    this.running.add(name)
    await this.#end.opened
  }

  endAll(): void {
    this.#end.open(undefined)
  }
}

describe.each([
  ['without keys', () => undefined],
  ['with one key', () => 'k'],
  ['with many keys', (name: string) => name],
])('reserved slots for jobs %s', (_title, keyOf) => {
  const inputOf = (name: string): Input => {
    const key = keyOf(name)
    return key === undefined ? { name } : { name, key }
  }

  test('jobs of low priority leave them free, and a job of high priority starts at once', async () => {
    const job = newWork()
    const held = new Held()
    const reserve = { slots: 2, priority: 50 }
    const worker = await startWorker(scene, { queues: { [job.queue]: { concurrency: 5, reserve } } }, (one) =>
      one.handle(job, ({ name }) => held.hold(name)),
    )
    const low = Array.from({ length: 20 }, (_, n) => inputOf(`low${n}`))
    await scene.stint.enqueueMany(job, low, { priority: 49 })
    await worker.tells('started', undefined, 3)
    // They would have started by now: each of these jobs is announced, claimed and started after them.
    for (const name of ['high1', 'high2']) {
      const { id } = await scene.stint.enqueue(job, inputOf(name), { priority: 50 })
      await worker.hears('started', id)
    }
    expect([...held.running].filter((name) => name.startsWith('low'))).toHaveLength(3)
    held.endAll()
    await worker.tells('succeeded', undefined, 22)
  })

  test('jobs of high priority may take all slots', async () => {
    const job = newWork()
    const held = new Held()
    const reserve = { slots: 1, priority: 0 }
    const worker = await startWorker(scene, { queues: { [job.queue]: { concurrency: 3, reserve } } }, (one) =>
      one.handle(job, ({ name }) => held.hold(name)),
    )
    await scene.stint.enqueueMany(
      job,
      Array.from({ length: 6 }, (_, n) => inputOf(`high${n}`)),
    )
    await worker.tells('started', undefined, 3)
    held.endAll()
    await worker.tells('succeeded', undefined, 6)
  })

  test('all jobs run while the worker prefetches', async () => {
    const job = newWork()
    const reserve = { slots: 1, priority: 5 }
    const worker = await startWorker(scene, { queues: { [job.queue]: { concurrency: 2, reserve } } }, (one) =>
      one.handle(job, () => undefined),
    )
    for (const priority of [-5, 9, 0])
      await scene.stint.enqueueMany(
        job,
        Array.from({ length: 300 }, (_, n) => inputOf(`${n % 30}`)),
        { priority },
      )
    await worker.tells('succeeded', undefined, 900)
  })
})

// It measures time, which a busy machine stretches.
describe.skipIf(form === 'short')('the wait of the lowest of three priorities under saturation', () => {
  const [agingAfterMs, pollFloorMs, runMs] = [400, 50, 10]
  /** For the machine: timers, the round trips of survey and claim, other tests. */
  const slackMs = 800
  const lastsMs = 120_000

  test.each([
    ['without keys', undefined],
    ['within a key', 'k'],
  ])('is at most agingAfter + pollFloor + one slot, %s', { timeout: 2 * lastsMs }, async (_title, key) => {
    const job = newWork()
    const input = (name: string): Input => (key === undefined ? { name } : { name, key })
    const storedAt = new Map<string, number>()
    const waits: number[] = []
    const queue = { concurrency: 2, agingAfter: agingAfterMs, pollFloor: pollFloorMs }
    const worker = await startWorker(scene, { queues: { [job.queue]: queue } }, (one) =>
      one.handle(job, async ({ name }) => {
        const at = storedAt.get(name)
        if (at !== undefined) waits.push(performance.now() - at)
        await pause(runMs)
      }),
    )
    const endAt = performance.now() + lastsMs
    // Two slots run at most 200 jobs a second: the higher priorities alone are more than that.
    const flood = async (priority: number): Promise<void> => {
      while (performance.now() < endAt) {
        await scene.stint.enqueueMany(job, Array.from({ length: 75 }).fill(input('high')) as Input[], {
          priority,
        })
        await pause(250)
      }
    }
    const lowest = async (): Promise<void> => {
      for (let n = 0; performance.now() < endAt - 2 * (agingAfterMs + slackMs); n++) {
        storedAt.set(`low${n}`, performance.now())
        await scene.stint.enqueue(job, input(`low${n}`), { priority: -50 })
        await pause(200)
      }
    }
    await Promise.all([flood(50), flood(0), lowest()])
    await worker.until(() => waits.length === storedAt.size, 'all jobs of the lowest priority')
    expect(Math.max(...waits)).toBeLessThanOrEqual(agingAfterMs + pollFloorMs + runMs + slackMs)
    // It did wait for the higher ones: the queue was saturated.
    expect(Math.max(...waits)).toBeGreaterThan(agingAfterMs / 2)
  })
})
