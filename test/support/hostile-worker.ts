import { defineJob, fileBlobStore } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import { growingWait } from './eventually.ts'
import type { Findings } from './findings.ts'
import { form } from './form.ts'
import { byFunction } from './hostile-calls.ts'
import type { HostileDatabase } from './hostile-database.ts'
import { describePlanted, kinds, neighboursIn } from './hostile-planted.ts'
import type { Planted } from './hostile-planted.ts'
import { TestWorker } from './workers.ts'

/** Without progress for this long, nothing more is expected; long, because the machine may be busy. */
const quietMs = 20_000
/** The same once something is known to be wrong, and only the row at fault is searched. */
const narrowQuietMs = 5_000
/** The time for the search for the values at fault; none of it is used where there is none. */
export const narrowMs = form === 'short' ? 60_000 : 540_000

/** Where workers meet hostile jobs. */
export interface WorkerScene {
  db: HostileDatabase
  blobFolder: string
  /** Errors that no code caught, since the start of the last worker. */
  strayErrors: string[]
  /** The call that stored a job, by the job's id. */
  byCall: ReadonlyMap<string, string>
}

/**
 * Runs a worker on hostile jobs and on those of other queues, and adds what is wrong to the findings. It finds the values
 * at fault: all jobs at once where there is none, otherwise by column, then one by one.
 */
export async function meetAll(
  scene: WorkerScene,
  all: readonly Planted[],
  others: readonly string[],
  findings: Findings,
): Promise<void> {
  const endAt = performance.now() + narrowMs
  const narrow = async (
    rows: readonly Planted[],
    more: readonly string[],
    forMs = narrowQuietMs,
  ): Promise<void> => {
    const problems = await meet(scene, rows, more, forMs)
    if (problems.length === 0) return
    const before = findings.size
    const groups = performance.now() > endAt ? [] : groupsOf(rows)
    if (groups.length > 0 || (rows.length > 0 && more.length > 0)) {
      for (const name of more) await narrow([], [name])
      for (const group of groups) await narrow(group, [])
    }
    if (findings.size === before)
      for (const { reader, about, problem } of problems) findings.add(reader, about, problem)
  }
  await narrow(all, others, quietMs)
}

interface Problem {
  reader: string
  about: string
  problem: unknown
}

/** Runs a worker on hostile jobs, with good ones in the same queues, and returns what is wrong once it is quiet. */
async function meet(
  scene: WorkerScene,
  rows: readonly Planted[],
  more: readonly string[],
  forMs: number,
): Promise<Problem[]> {
  const { db, strayErrors, byCall } = scene
  const problems: Problem[] = []
  strayErrors.length = 0
  const queues = [...new Set(rows.map(({ queue }) => queue)), ...more]
  const neighbours = queues.flatMap((name) => neighboursIn(name).map((one) => ({ table: 'job', ...one })))
  const met = await db.plant(rows, neighbours)
  const worker = await startWorker(scene, queues)
  try {
    const { id: workerId, healthPort } = worker.worker
    const byId = new Map(met.map((row) => [row.id, row]))
    const left = await whenQuiet(
      async () => (await leftIn(db, queues)).filter(({ id }) => byId.get(id)?.isBarred !== true),
      forMs,
    )
    const byQueue = new Map(met.map((row) => [row.queue, row]))
    const nameOf = ({ id, queue }: Pick<Left, 'id' | 'queue'>): string => {
      const own = byId.get(id)
      const beside = byQueue.get(queue)
      if (own !== undefined) return describePlanted(own)
      if (beside !== undefined) return `beside ${describePlanted({ ...beside, circumstance: '' })}`
      return byCall.get(id) ?? queue
    }
    for (const one of left) {
      const isNeighbour = neighbours.some(({ row }) => row['id'] === one.id)
      problems.push({ reader: isNeighbour ? 'neighbours' : 'worker', about: nameOf(one), problem: one.why })
    }
    // A queue that held only a bad row pauses for a moment before its next claim reports it as healthy.
    const unwell = await whenQuiet(async () => {
      const answers = await Promise.all(
        ['healthz', 'readyz'].map(async (path) => {
          const health = await fetch(`http://127.0.0.1:${String(healthPort)}/${path}`)
          return { reader: 'health', about: path, problem: health.ok ? undefined : await health.text() }
        }),
      )
      return answers.filter(({ problem }) => problem !== undefined)
    })
    problems.push(...unwell)
    if (worker.worker.id !== workerId || worker.told('stopping').length > 0)
      problems.push({
        reader: 'worker',
        about: `beside ${queues.join().slice(0, 60)}`,
        problem: 'it gave up or began anew',
      })
    // A row that could not be started has a reason for it.
    const started = new Set(worker.told('started').map(({ id }) => id))
    const dead = await db.query<{ id: string; queue: string; reason: string; error: unknown }>(
      `select id, queue, reason, error from stint.dead where queue = any($1)`,
      [queues],
    )
    for (const one of dead)
      if (!started.has(one.id) && byId.has(one.id) && !unstarted.has(one.reason))
        problems.push({
          reader: 'dead without a start',
          about: nameOf(one),
          problem: `${one.reason} ${JSON.stringify(one.error)}`,
        })
  } finally {
    await worker.worker.stop({ drain: 0 }).catch((error: unknown) => {
      problems.push({ reader: 'worker', about: `beside ${queues.join().slice(0, 60)}`, problem: error })
    })
  }
  const [first] = met
  const about =
    groupsOf(met).length > 0 || first === undefined ? queues.join().slice(0, 60) : describePlanted(first)
  // After the stop, because the figures are written then.
  for (const { what, error, jobIds } of worker.told('trouble'))
    if (jobIds === undefined && !isSeenByRows.test(what))
      problems.push({ reader: `trouble of the worker: ${what}`, about, problem: error })
  for (const error of strayErrors) problems.push({ reader: 'would end the process', about, problem: error })
  if (problems.length > 0) await db.forget(queues, met)
  return problems
}

/** If one of these keeps failing, jobs are left over; it may fail once to find the row at fault. */
const isSeenByRows = /^(claim|settle|survey|promote|sweep|reconcile|begun)\b/

const unstarted: ReadonlySet<string> = new Set([
  'invalid-row',
  'expired',
  'quarantined',
  'discarded-contract',
])

/** Groups by column, then by queue; none where there is a single group. */
function groupsOf(rows: readonly Planted[]): Planted[][] {
  for (const nameOf of [({ column }: Planted) => column, ({ queue }: Planted) => queue]) {
    const groups = new Map<string, Planted[]>()
    for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row])
    if (groups.size > 1) return [...groups.values()]
  }
  return []
}

const hostileJob = defineJob({ kind: kinds.hostile, queue: 'asleep', retry: { backoff: () => 1 } })
const flakyJob = defineJob({ kind: kinds.flaky, queue: 'asleep', retry: { backoff: () => 1 } })
const goodJob = defineJob({ kind: kinds.good, queue: byFunction, retry: { backoff: () => 1 } })
const childJob = defineJob({ kind: 'hostile.child', queue: 'children' })

export async function startWorker(
  { db, blobFolder }: WorkerScene,
  queues: readonly string[],
): Promise<TestWorker> {
  const one = new Worker({
    connection: db.url,
    log: false,
    drain: '5s',
    lease: '10s',
    pollFloor: '250ms',
    sweepEvery: '250ms',
    queues: Object.fromEntries(queues.map((name) => [name, 4])),
    health: { port: 0 },
    blobs: { store: fileBlobStore({ dir: blobFolder }) },
  })
  one.handle(goodJob, () => 'done')
  one.handle(hostileJob, async (_, ctx) => {
    ctx.log.info('seen', {
      key: ctx.key,
      correlationId: ctx.correlationId,
      runAt: ctx.runAt,
      last: ctx.lastProgress,
    })
    await ctx.progress(50, 'half')
    await ctx.enqueue(childJob, {})
    return { traceparent: ctx.traceparent, tracestate: ctx.tracestate }
  })
  const failed = new Set<string>()
  one.handle(flakyJob, (_, ctx) => {
    if (failed.has(ctx.jobId)) return 'done'
    failed.add(ctx.jobId)
    throw new Error('the first time')
  })
  const started = new TestWorker(one)
  await one.start()
  return started
}

/** A job that was not ended. */
export interface Left extends Record<string, unknown> {
  id: string
  queue: string
  kind: string
  why: string
}

/** Jobs that a worker of these queues should have ended: not those that are due later or of an unknown kind. */
function leftIn({ query }: HostileDatabase, queues: readonly string[]): Promise<Left[]> {
  return query<Left>(
    `select id, queue, kind, 'still ' || state as why
       from stint.job
      where queue = any($1)
        and kind = any($2)
        and version <= 1
        and state <> 'waiting'
        and (state not in ('scheduled', 'retrying') or run_at < now())`,
    [queues, Object.values(kinds)],
  )
}

/** Repeats the question until nothing is left, or nothing has changed for a while. */
export async function whenQuiet<Item>(ask: () => Promise<Item[]>, forMs = quietMs): Promise<Item[]> {
  const wait = growingWait()
  let left = await ask()
  for (let progressAt = performance.now(); left.length > 0 && performance.now() - progressAt < forMs;) {
    await wait()
    const now = await ask()
    if (now.length !== left.length) progressAt = performance.now()
    left = now
  }
  return left
}

/** Measures how long the event loop is blocked, until the result is called: it returns the longest time in ms. */
export function watchLoop(): () => number {
  let longestMs = 0
  let lastAt = performance.now()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastAt)
    lastAt = performance.now()
  }, 20)
  return () => {
    clearInterval(timer)
    return longestMs
  }
}
