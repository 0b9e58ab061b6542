import type { ForceBreakerOptions } from '../breakers.ts'
import type { JobContract } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import { signalName } from '../../contracts/signal.ts'
import type { SignalContract } from '../../contracts/signal.ts'
import { asSchedule } from '../../schedules/rules/define-schedule.ts'
import type { Schedule, ScheduleDefinition } from '../../schedules/rules/define-schedule.ts'
import type { EditOptions, ReplayOptions } from '../dead/dead-letters.ts'
import type { ResumeOptions, When } from '../jobs/job-verbs.ts'
import type { SignalRequest, SignalResult } from '../jobs/signals.ts'
import type { CancelFlowOptions, RerunFlowOptions } from '../flows/flow-verbs.ts'
import { checkId } from '../job-id.ts'
import type { Operations } from '../operations/operations.ts'
import type { PausedPart, PauseOptions } from '../pause-options.ts'
import type { SetConcurrencyOptions, SetQueueOptions } from '../queues.ts'
import type { OverrideOptions, PenaliseOptions, SetKeyOptions } from '../limits.ts'
import type { BackfillOptions } from '../schedules.ts'
import type { ClientParts } from '../parts.ts'
import { entryOf } from './actor.ts'
import { auditing } from './auditing.ts'
import type { AuditConfig } from './auditing.ts'

export interface OperatorConfig extends AuditConfig<ClientParts> {
  operations: Operations
}

/**
 * The client in the name of a person: `stint.as({ actor: 'ana' })`. Each change made through it gets an audit entry in
 * the same transaction; refused attempts get one too.
 */
export interface Operator extends ReturnType<typeof verbsOf> {
  /** Actions over many jobs. */
  readonly operations: Operations
  /** Writes an audit entry about an act that was refused before it was tried, because this person may not do it. */
  refused(act: { action: string; target: string; why: string; reason?: string | undefined }): Promise<void>
}
export type OperatorSchedules = Operator['schedules']

export function operatorOf(config: OperatorConfig): Operator {
  const { actor, refusals, operations } = config
  return {
    ...verbsOf(config),
    operations,
    async refused({ action, target, why, reason }) {
      const entry = entryOf(actor, { action, target, reason, after: { refused: why } })
      await refusals.note({ ...entry, outcome: 'refused' })
    },
  }
}

/** Every verb of an operator. A new verb is one entry: its action, what it calls, and the names of its options. */
function verbsOf(config: AuditConfig<ClientParts>) {
  const { onJob, on } = auditing(config)
  return {
    /** Brings a dead letter back as the job it was. */
    replay: onJob('job.replay', ({ dead }, id, options: ReplayOptions = {}) => dead.replay(id, options), {
      unnoted: ['delay'],
    }),
    /** Makes a new job of a dead letter, with another input. */
    editAndReplay: onJob(
      'job.edit',
      <Contract extends JobContract>({ dead }: ClientParts, id: string, options: EditOptions<Contract>) =>
        dead.replay(id, options),
      { unnoted: ['contract', 'input', 'delay'] },
    ),
    /** Cancels a job. A running job is asked to stop. */
    cancel: onJob(
      'job.cancel',
      ({ jobs, reason }, id, options: { wait?: Duration | undefined } = {}) =>
        jobs.cancel(id, { ...options, reason }),
      { unnoted: ['wait'] },
    ),
    /** Makes a job that waits for its time ready now. */
    runNow: onJob('job.run-now', ({ jobs }, id) => jobs.reschedule(id, { delay: 0 })),
    /** Moves a job that waits to another time. */
    reschedule: onJob('job.reschedule', ({ jobs }, id, when: When) => jobs.reschedule(id, when), {
      noted: ['runAt', 'delay'],
    }),
    /** Lets a parked job run at once; with `accept`, recorded steps that the new code does not ask for are ignored. */
    resume: onJob('job.resume', ({ jobs }, id, options: ResumeOptions = {}) => jobs.resume(id, options), {
      noted: ['accept'],
    }),
    /** Changes the priority of a job that is not running. */
    reprioritize: onJob(
      'job.reprioritize',
      ({ jobs }, id, options: { priority: number }) => jobs.reprioritize(id, options.priority),
      { noted: ['priority'] },
    ),
    /** Puts a dead letter into the trash. */
    discard: onJob('job.discard', ({ dead }, id) => dead.discard(id)),
    /** Takes a dead letter out of the trash. */
    restore: onJob('job.restore', ({ dead }, id) => dead.restore(id)),
    /** Sends a signal to a job that waits for it, or will. The audit has its name and key, not its payload. */
    signal: signalVerb(config),
    /** Says how long a queue keeps its jobs. */
    setQueue: on(
      'queue.set',
      ({ queues }, queue: string, options: SetQueueOptions) => queues.set(queue, options),
      { noted: ['keep', 'keepDead'] },
    ),
    /** Stops workers from starting jobs of a queue, or of one kind or key of it. */
    pauseQueue: on(
      'queue.pause',
      ({ queues, reason }, queue: string, options: PauseOptions) =>
        queues.pause(queue, { ...options, reason: reason ?? '' }),
      { noted: ['kind', 'key', 'until', 'for'] },
    ),
    /** Ends the pause of a queue, or of one kind or key of it. */
    resumeQueue: on(
      'queue.resume',
      ({ queues }, queue: string, options: PausedPart = {}) => queues.resume(queue, options),
      { noted: ['kind', 'key'] },
    ),
    /** Closes a queue for enqueues and lets it run empty. */
    drainQueue: on('queue.drain', ({ queues, reason }, queue: string) => queues.drain(queue, { reason })),
    /** Lets a closed queue take jobs again. */
    openQueue: on('queue.open', ({ queues }, queue: string) => queues.open(queue)),
    /** Sets how many jobs of a queue each worker runs at once, for a time or until it is cleared. */
    setConcurrency: on(
      'queue.concurrency',
      ({ queues, reason }, queue: string, options: Omit<SetConcurrencyOptions, 'reason'>) =>
        queues.setConcurrency(queue, { ...options, reason }),
      { noted: ['concurrency', 'until', 'for'] },
    ),
    /** Ends what setConcurrency() set. */
    clearConcurrency: on('queue.concurrency-clear', ({ queues }, queue: string) =>
      queues.clearConcurrency(queue),
    ),
    /** Running workers; each order gets an audit entry. */
    workers: {
      /** The worker claims nothing and finishes what runs. */
      pause: on('worker.pause', ({ workers, reason }, id: string) => workers.pause(id, { reason })),
      /** A paused worker works again. */
      resume: on('worker.resume', ({ workers }, id: string) => workers.resume(id)),
      /** The worker stops in order. */
      drain: on('worker.drain', ({ workers, reason }, id: string) => workers.drain(id, { reason })),
    },
    /** Schedules; each change gets an audit entry. */
    schedules: {
      /** Stores a schedule, new or changed. */
      set: on(
        'schedule.set',
        <Contract extends JobContract>(
          { schedules }: ClientParts,
          definition: Schedule | ScheduleDefinition<Contract>,
        ) => schedules.set(definition),
        { describe: describeSchedule },
      ),
      /** Makes a job of the schedule now, or asks a worker that has its code to make it. */
      run: on('schedule.run', ({ schedules }, name: string) => schedules.runNow(name)),
      /** Stops the fires of a schedule until a time, or until it is resumed. */
      pause: on(
        'schedule.pause',
        (
          { schedules, reason },
          name: string,
          options: { until?: Date | string | undefined; for?: Duration | undefined } = {},
        ) => schedules.pause(name, { ...options, reason }),
        { noted: ['until', 'for'] },
      ),
      /** Resumes a paused schedule from now on. */
      resume: on('schedule.resume', ({ schedules }, name: string) => schedules.resume(name)),
      /** Deletes a schedule and its history; its jobs stay. */
      delete: on('schedule.delete', ({ schedules }, name: string) => schedules.delete(name)),
      /** Makes up for the fires of a range of time. */
      backfill: on(
        'schedule.backfill',
        ({ schedules }, name: string, range: Omit<BackfillOptions, 'dryRun'>) =>
          schedules.backfill(name, range),
        { noted: ['from', 'to'] },
      ),
    },
    /** Flows; each change gets an audit entry. */
    flows: {
      /** Cancels a flow: what has not started ends, what runs is asked to stop. */
      cancel: on(
        'flow.cancel',
        ({ flows, reason }, id: string, options: Pick<CancelFlowOptions, 'expect'> = {}) =>
          flows.cancel(id, { ...options, reason }),
        { unnoted: ['expect'] },
      ),
      /** Makes the dead jobs of a flow ready again. */
      replay: on('flow.replay', ({ flows }, id: string) => flows.replay(id)),
      /** Stores a new flow that runs a node of this one again, and all behind it. */
      rerun: on(
        'flow.rerun',
        ({ flows }, id: string, options: RerunFlowOptions) => flows.rerun(id, options),
        {
          noted: ['from'],
        },
      ),
    },
    limits: limitVerbs(config),
    /** Breakers; each change gets an audit entry. */
    breakers: {
      /** Holds the jobs of a breaker back until a time. */
      open: on(
        'breaker.open',
        ({ breakers, reason }, name: string, options: ForcedSpan) =>
          breakers.open(name, { ...options, reason }),
        { noted: ['until', 'for'] },
      ),
      /** Lets the jobs of a breaker run until a time, however many fail. */
      close: on(
        'breaker.close',
        ({ breakers, reason }, name: string, options: ForcedSpan) =>
          breakers.close(name, { ...options, reason }),
        { noted: ['until', 'for'] },
      ),
      /** Has an open breaker probed now. */
      probe: on('breaker.probe', ({ breakers }, name: string) => breakers.probe(name)),
      /** Closes a breaker, and begins to count anew. */
      reset: on('breaker.reset', ({ breakers, reason }, name: string) => breakers.reset(name, { reason })),
    },
    /** Error groups; each decision gets an audit entry. */
    errors: {
      /** Says that the error is repaired: in a version of the app, or as of now. */
      resolve: on(
        'error.resolve',
        ({ errors }, fingerprint: string, options: { version?: string | undefined } = {}) =>
          errors.resolve(fingerprint, options),
        { noted: ['version'] },
      ),
      /** Mutes the error: for a duration, until a time, or for ever. */
      ignore: on(
        'error.ignore',
        (
          { errors },
          fingerprint: string,
          options: { until?: Date | undefined; for?: Duration | undefined } = {},
        ) => errors.ignore(fingerprint, options),
        { noted: ['until', 'for'] },
      ),
      /** Takes back a decision about the error. */
      reopen: on('error.reopen', ({ errors }, fingerprint: string) => errors.reopen(fingerprint)),
    },
  }
}

/**
 * It does not lock the job first, as verbs on a job do: `stint.signal()` takes the lock of the signals before that of the job, and
 * two calls in opposite orders would block each other.
 */
function signalVerb(config: AuditConfig<ClientParts>) {
  const send = auditing(config).on(
    'job.signal',
    (
      { signal },
      id: string,
      {
        signal: contract,
        payload,
        key,
      }: { name: string } & Pick<SignalRequest, 'signal' | 'payload' | 'key'>,
    ) => signal(id, { signal: contract, payload, key }),
    { noted: ['name', 'key'], unnoted: ['signal', 'payload'] },
  )
  return async <Given>(
    jobId: string,
    signal: SignalContract<unknown, Given> | string,
    payload?: Given,
    options: { key?: string | undefined; reason?: string | undefined } = {},
  ): Promise<SignalResult> => {
    checkId(jobId)
    return send(jobId, { key: undefined, ...options, name: signalName(signal), signal, payload })
  }
}

/** Concurrency limits and rates; each change gets an audit entry. */
function limitVerbs(config: AuditConfig<ClientParts>) {
  const { on } = auditing(config)
  const setKey = on(
    'limit.set-key',
    ({ limits, reason }, name: string, { key, ...options }: KeyOption & Omit<SetKeyOptions, 'reason'>) =>
      limits.setKey(name, key, { ...options, reason }),
    { noted: ['key', 'max', 'weight', 'tier', 'until', 'for'] },
  )
  const clearKey = on(
    'limit.clear-key',
    ({ limits }, name: string, { key }: KeyOption) => limits.clearKey(name, key),
    { noted: ['key'] },
  )
  return {
    /** Replaces the maximum of a limit, or the tokens of a rate, until a time or until it is cleared. */
    override: on(
      'limit.override',
      ({ limits, reason }, name: string, options: Omit<OverrideOptions, 'reason'>) =>
        limits.override(name, { ...options, reason }),
      { noted: ['max', 'tokens', 'until', 'for'], unnoted: ['version'] },
    ),
    /** Ends an override. */
    clear: on(
      'limit.clear',
      ({ limits }, name: string, options: { version?: string | undefined } = {}) =>
        limits.clear(name, options),
      { unnoted: ['version'] },
    ),
    /** Gives one key of a limit a maximum, a weight or a tier of its own. */
    setKey: (name: string, key: string, options: SetKeyOptions) => setKey(name, { key, ...options }),
    /** Removes the rule of one key. */
    clearKey: (name: string, key: string, options: { reason?: string | undefined } = {}) =>
      clearKey(name, { key, ...options }),
    /** Gives no token of a rate until a time. */
    penalise: on(
      'limit.penalise',
      ({ limits }, name: string, options: PenaliseOptions) => limits.penalise(name, options),
      { noted: ['key', 'until', 'for'] },
    ),
    /** Deletes a limit or a rate that no live worker has in its code. */
    delete: on('limit.delete', ({ limits }, name: string) => limits.delete(name)),
  }
}

interface KeyOption {
  key: string
}
type ForcedSpan = Omit<ForceBreakerOptions, 'reason'>

function describeSchedule(definition: Schedule | ScheduleDefinition): { target: string; after: unknown } {
  const { name, contract, rule, options } = asSchedule(definition)
  const { spec, timeZone } = rule
  return {
    target: name,
    after: { kind: contract.kind, queue: options.queue ?? contract.queue, spec, timeZone },
  }
}
