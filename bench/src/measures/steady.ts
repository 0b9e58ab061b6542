import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../clock.ts'
import type { Session } from '../systems/system.ts'
import { untilRun } from './drain.ts'
import { percentiles } from './latency.ts'
import type { Measure, Order, Sample } from './order.ts'
import { endWorkers, startWorkers } from './worker-process.ts'

/**
 * Single enqueues at an even pace, whether or not earlier ones have been answered, and a worker in another process.
 * A system that cannot keep up builds a backlog, and its waiting is in the figures.
 */
export async function measureSteady(
  session: Session,
  { perSecond, warmUpMs, durationMs, concurrency }: Extract<Measure, { type: 'steady' }>,
  order: Order,
): Promise<Sample> {
  const workers = await startWorkers({ ...order, concurrency, note: { type: 'starts' } }, 1)
  try {
    await sleep(1_000)
    const total = Math.round(((warmUpMs + durationMs) / 1000) * perSecond)
    const startedAt = now()
    const calledAt = await enqueueEvenly(session, { total, perSecond })
    const seconds = (now() - startedAt) / 1000
    await untilRun(workers, { jobs: total, endsAt: now() + 60_000 })
    const starts = (await workers[0]?.report())?.starts ?? []
    if (starts.length !== total) throw new Error(`${total} jobs were enqueued, but ${starts.length} started`)
    const firstCounted = Math.round((warmUpMs / 1000) * perSecond)
    const latencies = starts
      .filter(({ n }) => n >= firstCounted)
      .map(({ n, at }) => at - (calledAt[n] ?? Number.NaN))
    const all = percentiles(latencies)
    return { figure: all.p99Ms, count: latencies.length, seconds, stored: total, ...all }
  } finally {
    await endWorkers(workers)
  }
}

/** When each was called, once all are acknowledged. */
async function enqueueEvenly(
  session: Session,
  { total, perSecond }: { total: number; perSecond: number },
): Promise<number[]> {
  const calledAt: number[] = []
  const enqueued: Promise<unknown>[] = []
  const startedAt = now()
  while (calledAt.length < total) {
    const due = Math.min(total, Math.floor(((now() - startedAt) * perSecond) / 1000) + 1)
    while (calledAt.length < due) {
      const n = calledAt.length
      calledAt.push(now())
      enqueued.push(session.enqueueOne({ n }))
    }
    await sleep(1)
  }
  await Promise.all(enqueued)
  return calledAt
}
