import { StintError } from '../../core/errors.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { toldEntry } from '../../node/entry.ts'
import { isSuspect } from '../attempt/crash.ts'
import type { Handlers, Registered } from '../handlers.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { Deadlines } from '../watch/deadlines.ts'
import type { Outcome } from '../attempt/outcome.ts'
import { factsOf } from '../report/report.ts'
import { attemptIn } from './attempt.ts'
import type { AttemptConfig } from './attempt.ts'
import { Child } from './child.ts'
import type { ChildrenConfig, IsolateConfig, IsolateMode } from './isolate-options.ts'
import { Turns } from './turns.ts'

export interface ChildrenParts extends AttemptConfig {
  children: ChildrenConfig
  handlers: Handlers
  /** Zero-based index of the worker within its file. */
  index: number
  url: string
  schema: string
  /** For one statement of a child. */
  deadlineMs: number
  deadlines: Pick<Deadlines, 'started'>
}

/** The child that a job needs. */
interface ChildSpec {
  mode: IsolateMode
  memoryMb: number
  maxJobs: number
}

/** How long a child without a job is kept for the next one. */
const idleMs = 45_000
/** How long a job waits if its child could not be loaded: the cause usually needs a deployment. */
const unloadedMs = 10_000

/**
 * Handlers that can be ended from outside.
 *
 * JavaScript cannot be interrupted, and a crash of a process ends all jobs in it. So an isolated handler runs in a
 * child of the worker: a process, or a thread. The child loads the file that makes the worker, takes the handlers of
 * the worker with the same index, and runs one job at a time with them; its worker never connects, claims or starts.
 * What the job reports (progress, log lines, its completion) comes to the worker in messages and is stored by the
 * worker, in the same order, before the outcome. `ctx.tx` and `ctx.once` use connections of the child itself: the fence
 * is in the database.
 *
 * A child is    loading   until it has said what it can do; a job is sent only then, so a file that does not load is no
 *                         failure of the job
 *               free      kept warm for the next job; ended when none comes for a while, or after so many jobs
 *               taken     by one job
 *               gone      and how it went is a story for people
 *
 * An attempt ends with the child's report, or with the child. If a child ends by itself, that is a crash of its one
 * job. A child that was told to end, by a timeout, a stop or a lost lease, has a grace and is then killed. The worker
 * decides how such an attempt ends, and not the child, which may be too busy to hear of it.
 *
 * When the worker dies, its threads die with it. Child processes notice the broken channel from a thread of their own,
 * even if their event loop is busy (guard-thread.ts). Their jobs are taken back like those of any lost worker.
 */
export class Children {
  readonly #parts: ChildrenParts
  readonly #children = new Set<Child>()
  readonly #turns: Readonly<Record<IsolateMode, Turns>>
  /** The kinds that children have handlers for, once a child has reported them. */
  #kinds: readonly string[] | undefined
  #canLoad = true
  #isClosing = false

  constructor(parts: ChildrenParts) {
    this.#parts = parts
    const { max } = parts.children
    this.#turns = { process: new Turns(max), thread: new Turns(max) }
  }

  /** Whether jobs that are not isolated can run in a child too. */
  get canRun(): boolean {
    return this.#parts.children.entry !== undefined && this.#canLoad && !this.#isClosing
  }

  /** Whether the job runs in a child: its kind is isolated, or it is suspected of a crash. */
  takes({ job }: HeldJob, { isolate }: Registered): boolean {
    if (isolate !== undefined) return true
    return isSuspect(job) && this.canRun && this.#kinds?.includes(job.kind) !== false
  }

  /** Runs one job to its outcome. Never rejects. */
  async run(held: HeldJob, registered: Registered): Promise<Outcome> {
    // Its timeout does not run while it waits for a child.
    held.waitForChild()
    const spec = this.#specFor(held, registered.isolate)
    const turns = this.#turns[spec.mode]
    if (this.#isClosing || !(await turns.take(held))) return notBegun()
    try {
      return await this.#runNow(held, registered, spec)
    } catch (error) {
      return this.#unloaded(held, registered, error)
    } finally {
      turns.give()
    }
  }

  /** Throws if the isolated handlers cannot be run: better at the start than with the first job. */
  async check(): Promise<void> {
    const wishes = this.#parts.handlers.isolated().map((isolate) => this.#specOf(isolate))
    const byMode = new Map(wishes.map((spec) => [spec.mode, spec]))
    await Promise.all(
      [...byMode.values()].map(async (spec) => {
        const child = this.#obtain(spec)
        try {
          this.#kinds = await child.ready
          child.free(idleMs)
        } catch (error) {
          throw isolationFailed(spec.mode, error)
        }
      }),
    )
  }

  /** Gives back the jobs that wait for a child; running jobs go on, and begin no further step. */
  releaseWaiting(): void {
    this.#isClosing = true
    for (const child of this.#children) child.post({ type: 'drain' })
    this.#turns.process.releaseWaiting()
    this.#turns.thread.releaseWaiting()
  }

  /** Ends all children with the jobs in them. */
  async close(): Promise<void> {
    this.releaseWaiting()
    await Promise.all([...this.#children].map((child) => child.end()))
  }

  async #runNow(held: HeldJob, registered: Registered, spec: ChildSpec): Promise<Outcome> {
    const child = this.#obtain(spec)
    try {
      const kinds = await orAborted(held, child.ready)
      if (kinds === undefined || this.#isClosing) return notBegun()
      this.#kinds = kinds
      this.#canLoad = true
      // Only for a suspect, whose handler was added outside of the file; from now on children do not take its kind.
      if (!kinds.includes(held.job.kind)) return { type: 'released', reason: 'no child has a handler for it' }
      const { contract } = registered
      child.jobs++
      // Its timeout counts from here.
      const timeoutMs = held.job.more?.timeoutMs ?? contract.timeoutMs
      held.begin(held.slot, timeoutMs)
      this.#parts.deadlines.started(held)
      return await attemptIn(child, { held, contract, timeoutMs }, this.#parts)
    } finally {
      if (child.jobs >= spec.maxJobs || child.isEnding) void child.end()
      else child.free(idleMs)
    }
  }

  /**
   * A child for one job: a free one that fits, or a new one, for which a free one that does not fit may have to end.
   */
  #obtain({ mode, memoryMb, maxJobs }: ChildSpec): Child {
    const ours = [...this.#children].filter((child) => child.mode === mode && !child.isEnding)
    const free = ours.filter(({ isFree }) => isFree)
    let child = free.find((one) => one.memoryMb === memoryMb && one.jobs < maxJobs)
    if (child === undefined) {
      if (ours.length >= this.#parts.children.max) void free[0]?.end()
      child = this.#start(mode, memoryMb)
    }
    child.take()
    return child
  }

  #start(mode: IsolateMode, memoryMb: number): Child {
    const { children, handlers, index, url, schema, leaseMs, graceMs, deadlineMs } = this.#parts
    const { entry = '' } = children
    const child = new Child({
      mode,
      memoryMb,
      introduction: {
        type: 'load',
        entry,
        isTold: toldEntry() !== undefined,
        index,
        kinds: handlers.isolatedKinds(),
        url,
        schema,
        leaseMs,
        graceMs,
        deadlineMs,
      },
      onGone: (gone) => this.#children.delete(gone),
      onLate: ({ jobId: id, kind, message: error }) => {
        this.#parts.log.error({ id, kind, error }, 'error thrown in a child after the attempt was over')
      },
    })
    this.#children.add(child)
    return child
  }

  #specFor({ job }: HeldJob, isolate: IsolateConfig | undefined): ChildSpec {
    const spec = this.#specOf(isolate)
    // Not in a thread, because a crash can end the whole process; and in a process that runs no other job.
    return isSuspect(job) ? { ...spec, mode: 'process', maxJobs: 1 } : spec
  }

  #specOf(isolate: IsolateConfig | undefined): ChildSpec {
    const { memoryMb, maxJobs } = this.#parts.children
    return {
      mode: isolate?.mode ?? 'process',
      memoryMb: isolate?.memoryMb ?? memoryMb,
      maxJobs: isolate?.maxJobs ?? maxJobs,
    }
  }

  /** The child could not be loaded: no failure of the job, which has not begun. */
  #unloaded(held: HeldJob, { isolate }: Registered, cause: unknown): Outcome {
    const mode = isolate?.mode ?? 'process'
    const error = isolationFailed(mode, cause)
    this.#parts.log.error({ ...factsOf(held), error: error.message }, 'a job could not be isolated')
    if (isolate === undefined) {
      // The job need not be isolated: from now on such jobs run in the worker itself.
      this.#canLoad = false
      return { type: 'released', reason: 'no child process could be loaded for it' }
    }
    return {
      type: 'retry',
      delayMs: unloadedMs * (1 + 0.2 * Math.random()),
      burnsAttempt: false,
      error: describeFailure(error, { kind: held.job.kind, failureClass: 'unknown' }),
      timedOut: false,
    }
  }
}

/** The value; undefined as soon as the job is told to end. */
async function orAborted<Value>(held: HeldJob, value: Promise<Value>): Promise<Value | undefined> {
  let unlisten: () => void = () => undefined
  const aborted = new Promise<undefined>((resolve) => {
    unlisten = held.listen(() => {
      resolve(undefined)
    })
    if (held.abortedFor !== undefined) resolve(undefined)
  })
  return Promise.race([aborted, value]).finally(() => {
    unlisten()
  })
}

function notBegun(): Outcome {
  return { type: 'released', reason: 'it had to end while it waited for a child' }
}

function isolationFailed(mode: IsolateMode, cause: unknown): StintError {
  const what = mode === 'process' ? 'child process' : 'thread'
  const message = messageOf(cause)
  return new StintError(
    'isolation-failed',
    `A ${what} for isolated handlers could not be loaded: ${message}`,
    {
      cause,
    },
  )
}
