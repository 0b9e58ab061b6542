import { now } from '../clock.ts'
import type { Session } from '../systems/system.ts'
import type { Measure, Order, Sample } from './order.ts'
import { untilRun } from './drain.ts'
import { endWorkers, startWorkers } from './worker-process.ts'

/**
 * One worker process on an existing queue, for so many jobs and no more: the cost of a claim beside many other jobs. The
 * first jobs are warm-up, because a few tens of thousands are over before a new process is at full speed.
 */
export async function measureDrainPart(
  session: Session,
  { jobs, warmUpJobs, concurrency }: Extract<Measure, { type: 'drain-part' }>,
  order: Order,
): Promise<Sample> {
  const [unfinishedBefore, finishedBefore] = [await session.unfinished(), (await session.finished?.()) ?? 0]
  const every = greatestCommonDivisor(jobs, warmUpJobs)
  const workers = await startWorkers({ ...order, concurrency, note: { type: 'marks', every } }, 1)
  try {
    await untilRun(workers, { jobs: warmUpJobs + jobs, endsAt: now() + 120_000 })
    const [worker] = workers
    const report = await worker?.report()
    await worker?.stop()
    const from = report?.marks[warmUpJobs / every - 1]?.at
    const to = report?.marks[(warmUpJobs + jobs) / every - 1]?.at
    if (from === undefined || to === undefined)
      throw new Error(`only ${report?.runs ?? 0} of ${warmUpJobs + jobs} jobs ran within 2 minutes`)
    const [unfinished, finished] = [await session.unfinished(), (await session.finished?.()) ?? 0]
    if (unfinished + finished !== unfinishedBefore + finishedBefore)
      throw new Error(
        `there were ${unfinishedBefore} jobs waiting and ${finishedBefore} finished, and then ${unfinished} and ${finished}`,
      )
    if (finished - finishedBefore < warmUpJobs + jobs)
      throw new Error(`${warmUpJobs + jobs} jobs ran, but only ${finished - finishedBefore} are finished`)
    const seconds = (to - from) / 1000
    return { figure: jobs / seconds, count: jobs, seconds, stored: unfinished + finished }
  } finally {
    await endWorkers(workers)
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
