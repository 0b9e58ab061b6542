import type { Job } from '../core/job.ts'
import { attempts } from '../jobs/attempt/attempts.ts'
import type { Attempt } from '../jobs/attempt/attempts.ts'
import { lastLogs, logs } from '../jobs/attempt/logs.ts'
import type { LogLine } from '../jobs/attempt/logs.ts'
import { whyTwice } from '../jobs/attempt/why-twice.ts'
import type { WhyTwice } from '../jobs/attempt/why-twice.ts'
import { get } from '../jobs/get.ts'
import { checkWords } from '../jobs/search/check-words.ts'
import { findJobs, search } from '../jobs/search/search.ts'
import type { SearchPage } from '../jobs/search/search.ts'
import { readParked } from '../flows/steps/parked-job.ts'
import type { ParkedJob } from '../flows/steps/parked-job.ts'
import { readJobSteps } from '../flows/steps/job-steps.ts'
import type { JobStep } from '../flows/steps/job-steps.ts'
import { why } from '../limits/why/why.ts'
import type { Why, WhyOptions } from '../limits/why/why.ts'
import type { Calls, GetOptions } from './calls.ts'
import { follow } from './follow/follow.ts'
import type { FollowOptions, JobNews } from './follow/follow.ts'
import { resolveResultOptions, resultOf } from './follow/result.ts'
import type { ResultOptions } from './follow/result.ts'
import type { Waiter } from './follow/waiter.ts'
import { checkId, missingJob } from './job-id.ts'
import { resolveListOptions } from './jobs/list-options.ts'
import type { JobPage, ListOptions } from './jobs/list-options.ts'
import { resolveLogsOptions } from './jobs/log-options.ts'
import type { LogsOptions } from './jobs/log-options.ts'
import { resolveSearchOptions } from './jobs/search-options.ts'
import type { SearchOptions } from './jobs/search-options.ts'
import { resolveStepsOptions } from './jobs/steps-options.ts'
import type { StepsOptions } from './jobs/steps-options.ts'

/** The methods of the client that read jobs and wait for them. */
export class JobReader {
  readonly #calls: Calls
  readonly #waiter: Waiter

  constructor(calls: Calls, waiter: Waiter) {
    this.#calls = calls
    this.#waiter = waiter
  }

  /** One job, live or ended, or undefined if it does not exist (any more). */
  async get(id: string, options?: GetOptions): Promise<Job | undefined> {
    checkId(id)
    const job = await this.#calls.send((db) => get(db, id))
    return job === undefined ? undefined : this.#calls.withInput(job, options)
  }

  /** A page of jobs, newest first. */
  async list(options?: ListOptions): Promise<JobPage> {
    const request = resolveListOptions(options)
    const { jobs, next } = await this.#calls.send((db) => findJobs(db, request))
    return { jobs, next }
  }

  /**
   * A page of jobs that match a filter, newest first: `state:dead queue:billing kind:charge.* age>1h`. Uses an index where
   * there is one; otherwise it reads at most 50,000 jobs, and `looked` says how far it got.
   */
  async search(options?: SearchOptions): Promise<SearchPage> {
    const request = resolveSearchOptions(options)
    // All statements of the search in one transaction, not one transaction for each.
    return this.#calls.send((db) =>
      db.transaction(async (tx) => {
        const page = await search(tx, request)
        const isNothing = page.jobs.length === 0 && page.next === undefined && request.before === undefined
        if (isNothing) await checkWords(tx, request.where)
        return page
      }),
    )
  }

  /**
   * Waits for a job to end and returns its result, as it was stored: a Date is text. Throws `job-dead` with the stored error
   * as its cause, `job-cancelled`, `job-not-found`, or `result-timeout` if the job has not ended in time.
   */
  async result(id: string, options?: ResultOptions): Promise<unknown> {
    return resultOf(this.#waiter, resolveResultOptions(id, options))
  }

  /**
   * The changes of a job as they happen: first its current state, then changes of state, progress and steps; ends when the
   * job has ended. A reader that is slow gets the latest state, and not every state in between.
   */
  follow(options: FollowOptions): AsyncIterableIterator<JobNews> {
    return follow(this.#waiter, options)
  }

  /**
   * The last 1,000 attempts of a job, in order; none for a job that does not exist. An attempt that succeeded without
   * incident is not stored.
   */
  async attempts(id: string): Promise<Attempt[]> {
    checkId(id)
    return this.#calls.send((db) => attempts(db, id))
  }

  /**
   * Why a job does not run: all conditions of a claim in order, the first that does not hold, who holds it, and when it should
   * clear. Also for jobs that run, have ended or do not exist.
   */
  async why(id: string, options?: WhyOptions): Promise<Why> {
    checkId(id)
    return this.#calls.send((db) => why(db, id, options))
  }

  /** Why a job ran more than once: each of its attempts, its cause, and whether it burned an attempt. */
  async whyTwice(id: string): Promise<WhyTwice> {
    checkId(id)
    return (await this.#calls.send((db) => whyTwice(db, id))) ?? missingJob(id)
  }

  /**
   * The steps of a job with their results, in the order in which they were recorded: those that are recorded, or those of its history if
   * it succeeded or was cancelled. History has 64 KiB for the steps of a job: results that found no room are left out.
   */
  async steps(id: string, options?: StepsOptions): Promise<JobStep[]> {
    checkId(id)
    const request = resolveStepsOptions(id, options)
    return (await this.#calls.send((db) => readJobSteps(db, request))) ?? missingJob(id)
  }

  /** Why a job is parked: its handler asked for other steps than those that are recorded. Undefined if it is not parked. */
  async parked(id: string): Promise<ParkedJob | undefined> {
    checkId(id)
    return this.#calls.send((db) => readParked(db, id))
  }

  /** What a job's handler logged, in order. Pass the last line as `after` to get the lines after it. */
  async logs(id: string, options?: LogsOptions): Promise<LogLine[]> {
    checkId(id)
    const { request, isLast } = resolveLogsOptions(id, options)
    return this.#calls.send((db) => (isLast ? lastLogs(db, request) : logs(db, request)))
  }
}
