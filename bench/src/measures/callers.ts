import { percentile } from '../statistics.ts'
import type { Session } from '../systems/system.ts'
import type { CallersMeasure, Sample } from './order.ts'
import { assertStored } from './stored.ts'

/** Callers that each await one enqueue before the next. */
export async function measureCallers(
  session: Session,
  { callers, warmUpMs, durationMs, maxDepth }: CallersMeasure,
): Promise<Sample> {
  if (maxDepth !== undefined) await session.limitDepth?.(maxDepth)
  const before = await session.count()
  const warmUp = await call(session, { callers, durationMs: warmUpMs })
  const { latencies, seconds } = await call(session, { callers, durationMs })
  const stored = await assertStored(session, before + warmUp.latencies.length + latencies.length)
  return {
    figure: latencies.length / seconds,
    count: latencies.length,
    seconds,
    stored,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  }
}

async function call(session: Session, { callers, durationMs }: { callers: number; durationMs: number }) {
  const latencies: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + durationMs
  let n = 0
  const caller = async (): Promise<void> => {
    for (let askedAt = performance.now(); askedAt < endsAt;) {
      await session.enqueueOne({ n: n++ })
      const answeredAt = performance.now()
      latencies.push(answeredAt - askedAt)
      askedAt = answeredAt
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return { latencies, seconds: (performance.now() - startedAt) / 1000 }
}
