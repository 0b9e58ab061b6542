import type { Input, Session, Tuning } from '../systems/system.ts'
import type { Measure, Sample } from './order.ts'
import { assertStored } from './stored.ts'

/** Many jobs through the bulk API, in the chunks of the tuning. */
export async function measureBulk(
  session: Session,
  { jobs, warmUpJobs }: Extract<Measure, { type: 'bulk' }>,
  { chunk = 1_000, inFlight = 1 }: Tuning,
): Promise<Sample> {
  const before = await session.count()
  await enqueueAll(session, inputs(warmUpJobs), { chunk: Math.min(chunk, 1_000), inFlight })
  // The caller has its inputs; bringing them into the shape of the API is part of the call and of the time.
  const measured = inputs(jobs)
  const startedAt = performance.now()
  await enqueueAll(session, measured, { chunk, inFlight })
  const seconds = (performance.now() - startedAt) / 1000
  const stored = await assertStored(session, before + warmUpJobs + jobs)
  return { figure: jobs / seconds, count: jobs, seconds, stored }
}

export async function enqueueAll(
  session: Pick<Session, 'enqueueBulk'>,
  all: readonly Input[],
  { chunk, inFlight }: { chunk: number; inFlight: number },
): Promise<void> {
  let next = 0
  const sender = async (): Promise<void> => {
    while (next < all.length) {
      const from = next
      next += chunk
      await session.enqueueBulk(all.slice(from, from + chunk))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, sender))
}

export function inputs(count: number): Input[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}
