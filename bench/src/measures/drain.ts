import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { now } from '../clock.ts'
import type { Session } from '../systems/system.ts'
import { enqueueAll, inputs } from './bulk.ts'
import { openDatabase } from './database.ts'
import type { DrainMeasure, Order, Sample } from './order.ts'
import type { WorkerReport } from './worker-messages.ts'
import { endWorkers, startWorkers, type WorkerProcess } from './worker-process.ts'

// A mark per hundredth of all jobs: fine enough for tenths, and too rare to cost anything. Where several processes
// determine the end of the warm-up together, each has run half a step more than it reported: less than a hundredth of all
// jobs.
const marksPerRun = { one: 100, several: 2_000 }
const stuckAfterMs = 30_000

/**
 * Worker processes on a queue that was filled before them, from the first start until the store has no job left.
 *
 * The tenths come from the runs and not from the store, which gets no query while work goes on: counting rows would cost
 * more than many of them. The end comes from the store.
 */
export async function measureDrain(session: Session, measure: DrainMeasure, order: Order): Promise<Sample> {
  const { processes, concurrency, keyLimit, jobMs, isHeld, limitMs, warmUpJobs } = measure
  const jobs = warmUpJobs + measure.jobs
  const db = order.url.startsWith('postgres:') ? await openDatabase(order.url) : undefined
  const holder = isHeld ? new pg.Client({ connectionString: order.url }) : undefined
  let workers: WorkerProcess[] = []
  try {
    if (keyLimit !== undefined) await session.limitKeys?.(keyLimit)
    await enqueueAll(keyed(session, measure.keys), inputs(jobs), { chunk: 5_000, inFlight: 4 })
    await db?.settle()
    if (holder) await hold(holder)
    const walBefore = await db?.walBytes()
    const marks = warmUpJobs > 0 ? marksPerRun.several : marksPerRun.one
    const note = { type: 'marks', every: Math.max(1, Math.floor(jobs / marks)) } as const
    workers = await startWorkers({ ...order, concurrency, keyLimit, jobMs, note }, processes)
    const endsAt = now() + limitMs
    const isRun = (await untilRun(workers, { jobs, endsAt })) >= jobs
    if (isRun) await untilSettled(session, endsAt)
    const endedAt = now()
    const reports = await Promise.all(workers.map((worker) => worker.report()))
    const wal = walBefore === undefined ? undefined : ((await db?.walBytes()) ?? 0) - walBefore
    const runs = sum(reports.map((report) => report.runs))
    const stored = isRun ? await verify(session, { jobs, runs }) : await session.count()
    const startedAt = Math.min(...reports.map(({ first }) => first?.at ?? endedAt))
    const from = warmUpJobs === 0 ? startedAt : timeOfRun(reports, { run: warmUpJobs, every: note.every })
    const count = runs - warmUpJobs
    const seconds = (endedAt - from) / 1000
    return {
      figure: count / seconds,
      count,
      seconds,
      stored,
      ...(processes === 1 && reports[0] && courseOf(reports[0], note.every)),
      ...(warmUpJobs > 0 && { fromCold: (runs * 1000) / (endedAt - startedAt) }),
      cpuMicrosPerJob: sum(reports.map((report) => report.cpuMicros - cpuMicrosAt(report, from))) / count,
      ...(wal !== undefined && { walBytesPerJob: wal / runs }),
      ...(!isRun && { cutAfterSeconds: limitMs / 1000 }),
    }
  } finally {
    await endWorkers(workers)
    await holder?.end()
    await db?.close()
  }
}

/** The same session, whose jobs have keys. */
function keyed(session: Session, keys: number | undefined): Pick<Session, 'enqueueBulk'> {
  if (keys === undefined) return session
  if (session.enqueueKeyed === undefined) throw new Error('this system has no keys')
  return { enqueueBulk: (all) => session.enqueueKeyed?.(all, keys) ?? Promise.resolve() }
}

/** Holds a snapshot open as a long report or a lagging replica does: rows that die from here on cannot be removed. */
async function hold(holder: pg.Client): Promise<void> {
  await holder.connect()
  await holder.query('begin isolation level repeatable read')
  await holder.query('select count(*) from pg_class')
}

/** Asks the store rarely while many jobs are left and often towards the end, and gives up on workers that do nothing. */
export async function untilRun(
  workers: readonly WorkerProcess[],
  { jobs, endsAt }: { jobs: number; endsAt: number },
): Promise<number> {
  let last = { runs: 0, at: now() }
  for (;;) {
    const runs = sum(await Promise.all(workers.map((worker) => worker.count())))
    const at = now()
    if (runs >= jobs || at > endsAt) return runs
    if (runs === last.runs && at - last.at > stuckAfterMs)
      throw new Error(`no job started for ${stuckAfterMs / 1000} s, after ${runs} of ${jobs}`)
    const leftMs = runs > last.runs ? ((jobs - runs) * (at - last.at)) / (runs - last.runs) : 250
    if (runs > last.runs) last = { runs, at }
    await sleep(Math.min(250, Math.max(5, leftMs / 4)))
  }
}

async function untilSettled(session: Session, endsAt: number): Promise<void> {
  for (;;) {
    const left = await session.unfinished()
    if (left === 0) return
    if (now() > endsAt + stuckAfterMs) throw new Error(`all jobs ran, but ${left} are not settled`)
    await sleep(5)
  }
}

/** A figure counts only if each job ran once and the store agrees that all are done. */
async function verify(session: Session, { jobs, runs }: { jobs: number; runs: number }): Promise<number> {
  if (runs !== jobs) throw new Error(`${jobs} jobs were enqueued, but ${runs} ran`)
  const finished = await session.finished?.()
  if (finished !== undefined && finished !== jobs)
    throw new Error(`${jobs} jobs ran, but the store has ${finished} finished`)
  return finished ?? 0
}

/** When the processes together had reached this run. */
function timeOfRun(reports: readonly WorkerReport[], { run, every }: { run: number; every: number }): number {
  const times = reports.flatMap(({ marks }) => marks.map(({ at }) => at)).sort((a, b) => a - b)
  const at = times[Math.ceil(run / every) - 1]
  if (at === undefined) throw new Error(`the workers did not come to run ${run}`)
  return at
}

/** The CPU time that a process had used by then, as far as it has marks. */
function cpuMicrosAt({ first, marks }: WorkerReport, at: number): number {
  return (marks.findLast((mark) => mark.at <= at) ?? first)?.cpuMicros ?? 0
}

/** The course of one process from its first run to its last. */
function courseOf({ first, marks, rssMb }: WorkerReport, every: number) {
  const tenth = Math.floor(marks.length / 10)
  const rate = (from: number | undefined, to: number | undefined): number =>
    (tenth * every * 1000) / ((to ?? Number.NaN) - (from ?? Number.NaN))
  const firstTenth = rate(first?.at, marks[tenth - 1]?.at)
  const lastTenth = rate(marks.at(-1 - tenth)?.at, marks.at(-1)?.at)
  const tenths = marks.flatMap((mark, index) => ((index + 1) % 10 === 0 ? Math.round(mark.rssMb) : []))
  return {
    ...(tenth > 0 && { firstTenth, lastTenth, lastOfFirst: lastTenth / firstTenth }),
    ...(first && { rssStartMb: first.rssMb }),
    rssMiddleMb: marks[Math.floor(marks.length / 2)]?.rssMb ?? rssMb,
    rssMaxMb: Math.max(rssMb, ...marks.map((mark) => mark.rssMb)),
    rssEndMb: rssMb,
    rssTenthsMb: tenths,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
