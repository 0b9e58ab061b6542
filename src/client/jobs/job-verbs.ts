import { priorityOption } from '../../contracts/define-job.ts'
import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import { booleanOption, durationOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import { resumeParked } from '../../flows/steps/parked-job.ts'
import { timeOption } from '../../jobs/new/enqueue-options.ts'
import { reprioritize } from '../../jobs/change/reprioritize.ts'
import { reschedule } from '../../jobs/change/reschedule.ts'
import { checkId } from '../job-id.ts'
import type { Calls } from '../calls.ts'
import { cancelJob, resolveCancel } from './cancel.ts'
import type { CancelOptions } from './cancel.ts'

/** When a job runs: at a time, or after a delay. */
export type When = { runAt: Date | string } | { delay: Duration }

export interface ResumeOptions {
  /** Go on with the new code: recorded steps that it does not ask for are ignored. @default false */
  accept?: boolean | undefined
}

/** The changes of one live job: `stint.cancel()`, `reschedule()`, `reprioritize()` and `resume()`. */
export class JobVerbs {
  readonly #calls: Calls
  /** Called with each job that may run at another time or with another priority. */
  readonly #onMoved: (job: Job) => void
  /** Called with the id of a worker whose job was asked to stop. */
  readonly #onAsked: (worker: string) => void

  constructor(calls: Calls, told: { onMoved: (job: Job) => void; onAsked: (worker: string) => void }) {
    this.#calls = calls
    this.#onMoved = told.onMoved
    this.#onAsked = told.onAsked
  }

  async cancel(id: string, options?: CancelOptions): Promise<Job> {
    checkId(id)
    return cancelJob(this.#calls, resolveCancel(id, options), this.#onAsked)
  }

  async reschedule(id: string, when: When): Promise<Job> {
    checkId(id)
    const request = { id, ...resolveWhen(when) }
    const isDone = await this.#calls.write((db) => reschedule(db, request), { isDone: Boolean })
    const job = await this.#calls.changed(id, isDone)
    this.#onMoved(job)
    return job
  }

  async resume(id: string, options: ResumeOptions = {}): Promise<Job> {
    checkId(id)
    const { accept = false, ...rest } = options
    rejectUnknown('resume()', rest, ['accept'])
    const request = { id, accept: booleanOption('accept', accept) }
    const isDone = await this.#calls.write((db) => resumeParked(db, request), { isDone: Boolean })
    const job = await this.#calls.find(id)
    if (!isDone)
      throw new StintError(
        'state-changed',
        `Job ${id} of '${job.kind}' is ${job.state} and not parked: only a job that is parked because its steps have changed can be resumed.`,
        { jobIds: [id], current: job },
      )
    this.#onMoved(job)
    return this.#calls.withInputIfThere(job)
  }

  async reprioritize(id: string, priority: number): Promise<Job> {
    checkId(id)
    const request = { id, priority: priorityOption(priority) }
    const isDone = await this.#calls.write((db) => reprioritize(db, request), { isDone: Boolean })
    return this.#calls.changed(id, isDone)
  }
}

function resolveWhen(when: When): { runAt: string | null; delayMs: number | null } {
  const { runAt, delay } = when as { runAt?: unknown; delay?: unknown }
  if ((runAt === undefined) === (delay === undefined))
    throw invalidOption('when', '{ runAt } or { delay }', when)
  return {
    runAt: runAt === undefined ? null : timeOption('runAt', runAt),
    delayMs: delay === undefined ? null : durationOption('delay', delay),
  }
}
