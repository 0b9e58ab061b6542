import { StintError } from '../core/errors.ts'
import { messageOf, peek } from '../core/failures/thrown.ts'
import type { Job } from '../core/job.ts'
import { functionOption } from '../core/options.ts'
import { isUuid } from '../core/uuid.ts'
import type { StepCall, StepRun, TestSteps } from './steps.ts'

/** How a run of atEachBoundary() has ended. */
export interface BoundaryEnd {
  /** How many records the run had when the worker lost its memory; 0: it lost none. */
  readonly boundary: number
  /** The job that `start` has returned, as it is now. */
  readonly job: Job
  /** All jobs that were enqueued in the run and still exist, as they are now. */
  readonly jobs: readonly Job[]
  /** All calls of step functions in the run, in their order. */
  readonly ledger: readonly StepCall[]
  /** Those of them whose step was finished before: none, unless a step was renamed or reordered in between. */
  readonly repeats: readonly StepCall[]
}

export interface BoundaryRuns {
  steps: TestSteps
  drain: () => Promise<unknown>
  job: (id: string) => Promise<Job | undefined>
  /** The ids of all jobs that were enqueued so far. */
  enqueued: () => Promise<readonly string[]>
}

/** Runs `start` and a drain once, and again for each record of the first run. Returns the number of boundaries. */
export async function atEachBoundary(
  runs: BoundaryRuns,
  start: () => Promise<{ id: string }>,
  check: (end: BoundaryEnd) => unknown,
): Promise<number> {
  functionOption('start', start)
  functionOption('check', check)
  const seen = new Set<string>()
  let boundaries = 0
  try {
    for (let boundary = 0; boundary <= boundaries; boundary++) {
      const before = await runs.enqueued()
      const run = runs.steps.begin(boundary === 0 ? Infinity : boundary)
      const id = idOf(await start(), seen)
      await runs.drain()
      if (boundary === 0) boundaries = recordsOf(run)
      await judge(await endOf(runs, { run, boundary, id, before }), { run, check })
    }
  } finally {
    runs.steps.begin(Infinity)
  }
  return boundaries
}

function idOf(started: unknown, seen: Set<string>): string {
  const id = peek(started, 'id')
  if (!isUuid(id)) throw wrongStart('returns the job that it has enqueued, or its id as { id }')
  if (seen.has(id)) throw wrongStart('enqueues a new job each time; this one was enqueued before')
  seen.add(id)
  return id
}

function recordsOf({ records }: StepRun): number {
  if (records > 0) return records
  throw wrongStart('runs a handler with steps; nothing was recorded, so there is no boundary to look at')
}

function wrongStart(what: string): StintError {
  const message = `atEachBoundary() needs a \`start\` that ${what}.`
  return new StintError('invalid-option', message, {
    issues: [{ path: 'start', message: `is not one that ${what}` }],
  })
}

async function endOf(
  { job, enqueued }: BoundaryRuns,
  { run, boundary, id, before }: { run: StepRun; boundary: number; id: string; before: readonly string[] },
): Promise<BoundaryEnd> {
  const earlier = new Set(before)
  const own = (await enqueued()).filter((one) => !earlier.has(one))
  const jobs = (await Promise.all(own.map(job))).flatMap((one) => one ?? [])
  const first = jobs.find((one) => one.id === id) ?? (await job(id))
  if (first === undefined) throw wrongStart('returns the job that it has enqueued; it does not exist')
  const { ledger } = run
  return { boundary, job: first, jobs, ledger, repeats: ledger.filter(({ isRepeat }) => isRepeat) }
}

/** A failed check says behind which record the memory was dropped. */
async function judge(
  end: BoundaryEnd,
  { run, check }: { run: StepRun; check: (end: BoundaryEnd) => unknown },
): Promise<void> {
  try {
    await check(end)
  } catch (error) {
    const where =
      end.boundary === 0
        ? 'without a lost memory'
        : `behind record ${end.boundary}, of ${run.droppedAfter ?? 'none'}`
    throw new Error(`The check of atEachBoundary() failed ${where}: ${messageOf(error)}`, { cause: error })
  }
}
