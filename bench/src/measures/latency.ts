import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../clock.ts'
import { percentile } from '../statistics.ts'
import type { Session } from '../systems/system.ts'
import type { Details, Measure, Order, Sample } from './order.ts'
import { endWorkers, startWorkers } from './worker-process.ts'

const warmUpSamples = 20
const lostAfterMs = 30_000

/** From the call of enqueue in this process to the first line of the handler in another, one job at a time. */
export async function measureLatency(
  session: Session,
  { samples, concurrency }: Extract<Measure, { type: 'latency' }>,
  order: Order,
): Promise<Sample> {
  const ran = new Map<number, (at: number) => void>()
  const workers = await startWorkers({ ...order, concurrency, note: { type: 'each' } }, 1, ({ n, at }) =>
    ran.get(n)?.(at),
  )
  try {
    // Until the worker has finished its start.
    await sleep(1_000)
    const latencies: number[] = []
    const startedAt = now()
    for (let n = 0; n < warmUpSamples + samples; n++) {
      const started = new Promise<number>((resolve) => ran.set(n, resolve))
      const calledAt = now()
      await session.enqueueOne({ n })
      const at = await within(lostAfterMs, started)
      if (n >= warmUpSamples) latencies.push(at - calledAt)
      // Long enough for the worker to be idle again, and out of step with its timers.
      await sleep(20 + Math.random() * 40)
    }
    const seconds = (now() - startedAt) / 1000
    const all = percentiles(latencies)
    return { figure: all.p50Ms, count: samples, seconds, stored: await session.count(), ...all }
  } finally {
    await endWorkers(workers)
  }
}

export function percentiles(
  latencies: readonly number[],
): Required<Pick<Details, 'p50Ms' | 'p90Ms' | 'p99Ms' | 'maxMs'>> {
  return {
    p50Ms: percentile(latencies, 0.5),
    p90Ms: percentile(latencies, 0.9),
    p99Ms: percentile(latencies, 0.99),
    maxMs: Math.max(...latencies),
  }
}

async function within<Value>(ms: number, value: Promise<Value>): Promise<Value> {
  const limit = new AbortController()
  const late = sleep(ms, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`a job did not start within ${ms / 1000} s`)
  })
  try {
    return await Promise.race([value, late])
  } finally {
    limit.abort()
    late.catch(() => {})
  }
}
