import { EventEmitter } from 'node:events'
import type { FailureClass } from '../../core/failures/failure.ts'
import type { StoredError } from '../../core/failures/stored-error.ts'
import type { BreakerStep } from '../../limits/breakers/steps.ts'
import type { Fired } from '../../schedules/fires/tick.ts'
import type { UnknownKind } from '../../jobs/survey.ts'
import type { DeadReason } from '../../jobs/dead/dead-letter.ts'
import type { Regressed } from '../../stats/errors/write-errors.ts'

/** Which job an event is about. */
export interface JobFacts {
  id: string
  kind: string
  queue: string
  key: string | null
  attempt: number
  maxAttempts: number
  epoch: number
  correlationId: string
}

/** What a pause is of: the queue, or one kind or key of it. */
export interface PauseFacts {
  queue: string
  kind: string | null
  key: string | null
}

/** A lane that a limit or a rate closed: a key of a queue, or the whole queue. */
export interface LimitedFacts {
  queue: string
  /** Null: the whole queue. */
  key: string | null
  by: 'limit' | 'rate'
  state: 'closed' | 'free'
  /** How long it has been closed, or was. */
  forMs: number
}

/** The events of a worker, by name. Job events are emitted once their ending is stored, not before. */
export interface WorkerEvents {
  /** It has its lease and claims. */
  ready: [{ workerId: string }]
  started: [JobFacts]
  succeeded: [JobFacts & { ranMs: number }]
  /** An attempt failed and there will be another. */
  failed: [JobFacts & { ranMs: number; error: StoredError; delayMs: number }]
  /** Its retry was put off because of the retry budget of its queue; `delayMs` has the `movedMs` in it. */
  budget: [JobFacts & { class: FailureClass; delayMs: number; movedMs: number }]
  dead: [JobFacts & { ranMs: number; error: StoredError | null; reason: DeadReason }]
  cancelled: [JobFacts & { reason: string }]
  snoozed: [JobFacts & { delayMs: number; reason: string | null }]
  /** It waits without a slot; `reason` names the calls that wait. */
  waiting: [JobFacts & { ranMs: number; reason: string }]
  /** Its handler asked for other steps than those that are recorded: it waits for code that fits. */
  parked: [JobFacts & { reason: string; tries: number }]
  released: [JobFacts & { reason: string }]
  /** The child process that it ran in ended under it; it will run again. */
  crashed: [JobFacts & { ranMs: number; delayMs: number; reason: string }]
  /**
   * A child that its handler enqueued was not stored with its success: the job `duplicateOf` exists already (`unique`
   * or the same idempotency key), and got the child's input if it was `replaced`.
   */
  duplicateChild: [
    JobFacts & {
      /** The child as ctx.enqueue() returned it; there is no job with this id. */
      child: { id: string; kind: string; queue: string }
      duplicateOf: string
      replaced: boolean
    },
  ]
  /** Its handler does not end although it was told to: its ending is stored, and its slot is opened to other jobs. */
  stuck: [JobFacts & { ranMs: number; stuckSlots: number }]
  /** It threw an error after its attempt was over: in a timer, or in a promise that is not awaited. */
  thrownLate: [JobFacts & { error: StoredError }]
  /** Its ending was refused: the job has another lease by now. */
  leaseLost: [JobFacts & { ranMs: number }]
  /** It has been running for much longer than its kind usually does. */
  slow: [JobFacts & { ranMs: number; usualMs: number }]
  /** The other side asked it to come back later: a rate of its contract is closed for all processes, for `forMs`. */
  penalised: [JobFacts & { rate: string; forMs: number }]
  /** Jobs of lost workers were taken back or put aside. */
  swept: [
    {
      returned: number
      quarantined: readonly { id: string; queue: string; kind: string; attempt: number }[]
    },
  ]
  /** An error that was resolved is back. */
  regressed: [Regressed]
  /** Jobs wait here that this worker has no handler for. */
  unknownKinds: [readonly UnknownKind[]]
  /**
   * A limit or a rate has let no job of a key, or of a whole queue, start for 1 s although some wait; and again when one starts,
   * or none waits any more. As far as this worker's claims know.
   */
  limited: [LimitedFacts]
  /** A job that found no room was cancelled: its limit has `onLimit: 'drop-newest'`. */
  shed: [DisplacedJob]
  /** A newer job replaced this one, which was cancelled or asked to stop: its limit has `onLimit: 'latest-wins'`. */
  superseded: [DisplacedJob]
  /** This worker decided scheduled times: it made jobs, or not, and why. */
  fired: [Fired]
  /** A schedule could not be fired; it is tried again later. */
  scheduleFailed: [{ schedule: string; error: unknown }]
  /** This worker starts no jobs of a queue any more, or of one kind or key of it: it has read that they are paused. */
  paused: [PauseFacts]
  /** A pause is over: it was resumed, or its time has come. */
  resumed: [PauseFacts]
  /** This worker opened, probed or closed a breaker. */
  breaker: [BreakerStep]
  /** This worker was declared lost, and begins again under another id. */
  workerLost: [{ workerId: string }]
  /** The database cannot be reached, or refuses; the worker tries again. `jobIds` if only these jobs are the cause. */
  trouble: [{ what: string; error: unknown; jobIds?: readonly string[] }]
  /** A person paused it: it claims nothing and finishes what runs. */
  workerPaused: [{ workerId: string; reason: string | null }]
  workerResumed: [{ workerId: string }]
  stopping: [{ reason: string }]
  stopped: []
}

/** A job that a limit did not let wait, or run on. */
export interface DisplacedJob {
  id: string
  queue: string
  kind: string
  key: string | null
  /** Names the limit and, where a newer job took its place, that job. */
  reason: string
  /** It ran, and was asked to stop. */
  wasRunning: boolean
}

/** The only emitter. A listener that throws is reported and stops nothing. */
export class Events {
  readonly #emitter = new EventEmitter()
  readonly #onListenerError: (error: unknown) => void

  constructor(onListenerError: (error: unknown) => void) {
    this.#emitter.setMaxListeners(0)
    this.#onListenerError = onListenerError
  }

  on<Name extends keyof WorkerEvents>(
    name: Name,
    listener: (...args: WorkerEvents[Name]) => void,
  ): () => void {
    const guarded = (...args: unknown[]): void => {
      try {
        const returned = (listener as (...said: unknown[]) => unknown)(...args)
        if (returned instanceof Promise) returned.catch(this.#onListenerError)
      } catch (error) {
        this.#onListenerError(error)
      }
    }
    this.#emitter.on(name, guarded)
    return () => this.#emitter.off(name, guarded)
  }

  /** Whether the event has a listener: otherwise its facts need not be collected. */
  has(name: keyof WorkerEvents): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  emit<Name extends keyof WorkerEvents>(name: Name, ...args: WorkerEvents[Name]): void {
    this.#emitter.emit(name, ...args)
  }
}
