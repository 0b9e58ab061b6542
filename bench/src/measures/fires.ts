import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../clock.ts'
import type { Session } from '../systems/system.ts'
import { percentiles } from './latency.ts'
import type { Measure, Order, Sample } from './order.ts'
import type { Started } from './worker-messages.ts'
import { endWorkers, startWorkers, type WorkerProcess } from './worker-process.ts'

/** The first fires do not count, because a new process compiles what it runs for the first time. */
const warmUpSeconds = 3

/**
 * How late a fire is on an idle system: from the time of the schedule to the first line of the handler. Each job carries
 * its time, which comes from the database's clock; here that is the machine's.
 */
export async function measureFires(
  session: Session,
  { samples, schedules, concurrency }: Extract<Measure, { type: 'fires' }>,
  order: Order,
): Promise<Sample> {
  const wanted = samples + warmUpSeconds * schedules
  const workers = await startWorkers({ ...order, concurrency, schedules, note: { type: 'starts' } }, 1)
  try {
    const [worker] = workers
    if (!worker) throw new Error('no worker process')
    const starts = await untilStarted(worker, wanted, 30_000 + (2_000 * wanted) / schedules)
    const sorted = starts.toSorted((a, b) => a.n - b.n).slice(0, wanted)
    mustBeEach(sorted, 1000 / schedules)
    const toWall = performance.timeOrigin + performance.now() - now()
    const late = sorted.slice(-samples).map(({ n, at }) => at + toWall - n)
    const all = percentiles(late)
    const stored = (await session.count()) + ((await session.finished?.()) ?? 0)
    return { figure: all.p50Ms, count: samples, seconds: samples / schedules, stored, ...all }
  } finally {
    await endWorkers(workers)
  }
}

async function untilStarted(worker: WorkerProcess, wanted: number, limitMs: number): Promise<Started[]> {
  const endsAt = now() + limitMs
  while (now() < endsAt) {
    if ((await worker.count()) >= wanted) return (await worker.report()).starts
    // Rare enough to be no load for the measured process.
    await sleep(1_000)
  }
  throw new Error(`only ${await worker.count()} of ${wanted} fires started within ${limitMs / 1000} s`)
}

/** Lateness counts only if no fire was skipped and none happened twice. */
function mustBeEach(starts: readonly Started[], everyMs: number): void {
  for (const [index, { n }] of starts.entries()) {
    const before = starts[index - 1]?.n ?? n - everyMs
    if (n - before !== everyMs)
      throw new Error(
        `after the fire of ${new Date(before).toISOString()} came that of ${new Date(n).toISOString()}`,
      )
  }
}
