import { writeAudit } from '../../operations/audit/audit.ts'
import type { Refusals } from '../../operations/audit/refusals.ts'
import type { InputOf, JobContract } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import { isStintError } from '../../core/errors.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import { invalidOption, rejectUnknown } from '../../core/options.ts'
import type { ErrorGroup } from '../../stats/errors/error-groups.ts'
import type { QueueSettings } from '../../jobs/queue-settings.ts'
import { asSchedule } from '../../schedules/rules/define-schedule.ts'
import type { Schedule, ScheduleDefinition } from '../../schedules/rules/define-schedule.ts'
import type { ScheduleDetails } from '../../schedules/read.ts'
import { Act, resolveExpect } from './act.ts'
import type { Expect } from './act.ts'
import { entryOf } from './actor.ts'
import type { ActorConfig } from './actor.ts'
import { checkId } from '../job-id.ts'
import type { Calls } from '../calls.ts'
import type { DeadLetters } from '../dead/dead-letters.ts'
import type { ErrorGroups } from '../dead/error-groups.ts'
import type { JobVerbs, When } from '../jobs/job-verbs.ts'
import type { Operations } from '../operations/operations.ts'
import type { Queues, SetQueueOptions } from '../queues.ts'
import type { BackfilledFire, BackfillOptions, RanSchedule, Schedules } from '../schedules.ts'

/** What an act says beside what it does. */
export interface ActOptions {
  /** The state that was seen: where the job is in another by now, `state-changed` with the job as it is. */
  expect?: Expect | undefined
  /** Why, for the audit. */
  reason?: string | undefined
}

/** The parts of a client that change something, on calls of its own. */
export interface Faces {
  jobs: JobVerbs
  dead: DeadLetters
  queues: Queues
  schedules: Schedules
  errors: ErrorGroups
}

export interface OperatorConfig {
  actor: ActorConfig
  calls: Calls
  /** The same parts, on these calls. */
  facesOf: (calls: Calls) => Faces
  operations: Operations
  refusals: Refusals
}

interface Doing {
  action: string
  target: string
  reason: string | undefined
  /** What it becomes, for the audit; never an input. */
  after?: unknown
  jobId?: string
  expect?: unknown
}

/**
 * The client in the name of a person: `stint.as({ actor: 'ana' })`. Each change made through it gets an audit entry in
 * the same transaction; refused attempts get one too.
 */
export class Operator {
  readonly #config: OperatorConfig
  /** Actions over many jobs. */
  readonly operations: Operations
  /** Schedules, with each change noted. */
  readonly schedules: OperatorSchedules
  /** Error groups, with each decision noted. */
  readonly errors: OperatorErrors

  constructor(config: OperatorConfig) {
    this.#config = config
    this.operations = config.operations
    this.errors = new OperatorErrors((doing, work) => this.#act(doing, work))
    this.schedules = new OperatorSchedules((doing, work) => this.#act(doing, work))
  }

  /** Brings a dead letter back as the job it was. */
  async replay(id: string, options: ActOptions & { delay?: Duration | undefined } = {}): Promise<Job> {
    const { delay, ...act } = options
    return this.#onJob('job.replay', id, act, ({ dead }) => dead.replay(id, { delay }))
  }

  /** Makes a new job of a dead letter, with another input. */
  async editAndReplay<Contract extends JobContract>(
    id: string,
    options: ActOptions & {
      contract: Contract
      input: InputOf<Contract>
      delay?: Duration | undefined
    },
  ): Promise<Job> {
    const { contract, input, delay, ...act } = options
    return this.#onJob('job.edit', id, act, ({ dead }) => dead.replay(id, { contract, input, delay }))
  }

  /** Ends a job; one that runs is asked to stop. */
  async cancel(id: string, options: ActOptions & { wait?: Duration | undefined } = {}): Promise<Job> {
    const { wait, ...act } = options
    return this.#onJob('job.cancel', id, act, ({ jobs }) => jobs.cancel(id, { reason: act.reason, wait }))
  }

  /** Lets a job run that waits for its time. */
  async runNow(id: string, options: ActOptions = {}): Promise<Job> {
    return this.#onJob('job.run-now', id, options, ({ jobs }) => jobs.reschedule(id, { delay: 0 }))
  }

  /** Moves a job that waits to another time. */
  async reschedule(id: string, when: When & ActOptions): Promise<Job> {
    const { expect, reason, ...rest } = when
    const after = rest
    return this.#onJob('job.reschedule', id, { expect, reason, after }, ({ jobs }) =>
      jobs.reschedule(id, rest),
    )
  }

  /** Changes the priority of a job that is not running. */
  async reprioritize(id: string, options: ActOptions & { priority: number }): Promise<Job> {
    const { priority, ...act } = options
    const after = { priority }
    return this.#onJob('job.reprioritize', id, { ...act, after }, ({ jobs }) =>
      jobs.reprioritize(id, priority),
    )
  }

  /** Puts a dead letter into the trash. */
  async discard(id: string, options: ActOptions = {}): Promise<Job> {
    return this.#onJob('job.discard', id, options, ({ dead }) => dead.discard(id))
  }

  /** Takes a dead letter out of the trash. */
  async restore(id: string, options: ActOptions = {}): Promise<Job> {
    return this.#onJob('job.restore', id, options, ({ dead }) => dead.restore(id))
  }

  /** Says how long a queue keeps its jobs. */
  async setQueue(
    queue: string,
    options: SetQueueOptions & { reason?: string | undefined },
  ): Promise<QueueSettings> {
    const { reason, ...settings } = options
    return this.#act({ action: 'queue.set', target: queue, reason, after: settings }, ({ queues }) =>
      queues.set(queue, settings),
    )
  }

  /** Notes that an act was refused before it was tried, because this person may not do it. */
  async refused(act: {
    action: string
    target: string
    why: string
    reason?: string | undefined
  }): Promise<void> {
    const { actor, refusals } = this.#config
    const { action, target, why, reason } = act
    const entry = entryOf(actor, { action, target, reason, after: { refused: why } })
    await refusals.note({ ...entry, outcome: 'refused' })
  }

  async #onJob(
    action: string,
    id: string,
    { expect, reason, after, ...rest }: ActOptions & { after?: unknown },
    work: (faces: Faces) => Promise<Job>,
  ): Promise<Job> {
    checkId(id)
    rejectUnknown(action, rest, ['expect', 'reason'])
    return this.#act({ action, target: id, reason, after, jobId: id, expect }, work)
  }

  async #act<Result>(doing: Doing, work: (faces: Faces) => Promise<Result>): Promise<Result> {
    const { actor, calls, facesOf, refusals } = this.#config
    const entry = entryOf(actor, doing)
    const act = new Act({ entry, jobId: doing.jobId, expect: resolveExpect(doing.expect) })
    try {
      const result = await work(facesOf(calls.notedAs(act)))
      // Nothing had to be changed, but the request itself belongs in the audit.
      if (!act.isNoted) await calls.send((db) => writeAudit(db, entry))
      return result
    } catch (error) {
      if (!act.isNoted && isRefusal(error)) {
        const after = { refused: error.code, message: error.message }
        await refusals.note({ ...entry, outcome: 'refused', after })
      }
      throw error
    }
  }
}

type Do = <Result>(doing: Doing, work: (faces: Faces) => Promise<Result>) => Promise<Result>

/** Schedules in the name of a person. */
export class OperatorSchedules {
  readonly #act: Do

  constructor(act: Do) {
    this.#act = act
  }

  /** Stores one, new or changed. */
  set<Contract extends JobContract>(
    definition: Schedule | ScheduleDefinition<Contract>,
    { reason }: { reason?: string | undefined } = {},
  ): Promise<ScheduleDetails> {
    const schedule = asSchedule(definition)
    const { name, contract, rule, options } = schedule
    const { spec, timeZone } = rule
    const after = { kind: contract.kind, queue: options.queue ?? contract.queue, spec, timeZone }
    return this.#act({ action: 'schedule.set', target: name, reason, after }, ({ schedules }) =>
      schedules.set(schedule),
    )
  }

  /** Makes a job of it now, or asks a worker that has its code to. */
  run(name: string, { reason }: { reason?: string | undefined } = {}): Promise<RanSchedule> {
    return this.#act({ action: 'schedule.run', target: checked(name), reason }, ({ schedules }) =>
      schedules.runNow(name),
    )
  }

  /** No fires until a time, or until it is resumed. */
  pause(name: string, options: Parameters<Schedules['pause']>[1] = {}): Promise<ScheduleDetails> {
    const { until, for: span, reason } = options
    const after = { ...(until === undefined ? {} : { until }), ...(span === undefined ? {} : { for: span }) }
    return this.#act({ action: 'schedule.pause', target: checked(name), reason, after }, ({ schedules }) =>
      schedules.pause(name, options),
    )
  }

  resume(name: string, { reason }: { reason?: string | undefined } = {}): Promise<ScheduleDetails> {
    return this.#act({ action: 'schedule.resume', target: checked(name), reason }, ({ schedules }) =>
      schedules.resume(name),
    )
  }

  delete(name: string, { reason }: { reason?: string | undefined } = {}): Promise<void> {
    return this.#act({ action: 'schedule.delete', target: checked(name), reason }, ({ schedules }) =>
      schedules.delete(name),
    )
  }

  /** Makes up for the times of a range. */
  backfill(
    name: string,
    options: Omit<BackfillOptions, 'dryRun'> & { reason?: string | undefined },
  ): Promise<BackfilledFire[]> {
    const { reason, ...range } = options
    return this.#act(
      { action: 'schedule.backfill', target: checked(name), reason, after: range },
      ({ schedules }) => schedules.backfill(name, range),
    )
  }
}

/** Error groups in the name of a person. */
export class OperatorErrors {
  readonly #act: Do

  constructor(act: Do) {
    this.#act = act
  }

  /** Says that it is repaired: in a version of the app, or as of now. */
  resolve(
    fingerprint: string,
    { reason, ...options }: { version?: string | undefined; reason?: string | undefined } = {},
  ): Promise<ErrorGroup> {
    const doing = { action: 'error.resolve', target: checked(fingerprint), reason, after: options }
    return this.#act(doing, ({ errors }) => errors.resolve(fingerprint, options))
  }

  /** Mutes the error: for a duration, until a time, or for ever. */
  ignore(
    fingerprint: string,
    { reason, ...options }: Parameters<ErrorGroups['ignore']>[1] & { reason?: string | undefined } = {},
  ): Promise<ErrorGroup> {
    const doing = { action: 'error.ignore', target: checked(fingerprint), reason, after: options }
    return this.#act(doing, ({ errors }) => errors.ignore(fingerprint, options))
  }

  /** Takes back what was decided. */
  reopen(fingerprint: string, { reason }: { reason?: string | undefined } = {}): Promise<ErrorGroup> {
    const doing = { action: 'error.reopen', target: checked(fingerprint), reason }
    return this.#act(doing, ({ errors }) => errors.reopen(fingerprint))
  }
}

function checked(name: unknown): string {
  if (typeof name === 'string' && name !== '' && !name.includes('\0')) return name
  throw invalidOption('name', 'a name', name)
}

/** Errors that refuse an act because of the current state; database trouble and wrong options are not noted. */
const refusals: readonly ErrorCode[] = [
  ...([
    'state-changed',
    'duplicate-job',
    'job-not-found',
    'schedule-not-found',
    'operation-not-found',
  ] as const),
  ...(['invalid-input', 'contract-mismatch', 'too-many-matches'] as const),
]

function isRefusal(error: unknown): error is Error & { code: ErrorCode } {
  return isStintError(error) && refusals.includes(error.code)
}
