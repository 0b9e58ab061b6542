import type { StoredError } from '../../core/failures/stored-error.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import type { Placed } from '../../jobs/enqueue.ts'
import type { DeadReason } from '../../jobs/dead/dead-letter.ts'
import type { Waits } from '../../flows/waiting/waiting.ts'
import type { HeldJob } from './held-job.ts'

/** A job that its handler enqueued by `ctx.enqueue`. */
export interface Child extends PreparedJob {
  /** How it was stored, once its parent's success is stored with it. */
  placed?: Placed
}

/** How an attempt ended. Endings are values; only src/worker/settle writes them. */
export type Outcome =
  | {
      type: 'succeeded'
      /** JSON text, or undefined where the handler returned nothing. */
      result: string | undefined
      children: readonly Child[]
      /** Its records of steps, for people, as JSON text; present exactly where it has records. */
      steps?: string | undefined
    }
  /** The handler stored it itself, in a transaction that has committed. */
  | { type: 'completed'; children: readonly Child[] }
  /** The handler stored it in a transaction of its own; `otherwise` applies if that has not committed. */
  | { type: 'handed-over'; children: readonly Child[]; otherwise: Ending }
  | {
      type: 'retry'
      delayMs: number
      burnsAttempt: boolean
      error: StoredError
      timedOut: boolean
      /** How much of the delay is there because of the queue's retry budget. */
      movedMs?: number
      /** How long the other side asked all to wait, if it did. */
      penaltyMs?: number | undefined
      /** Its breaker is open: the failure counts against no budget of its class either. */
      isSpared?: boolean
    }
  | {
      type: 'dead'
      reason: DeadReason
      error: StoredError
      timedOut: boolean
      /** How often its process ended under it, if that is the reason. */
      crashes?: number
      penaltyMs?: number | undefined
    }
  /** The process it ran in ended under it. */
  | { type: 'crashed'; delayMs: number; reason: string }
  | { type: 'cancelled'; reason: string; steps?: string | undefined }
  | { type: 'snoozed'; delayMs: number; reason: string | null }
  /** It waits for a time or a signal, without a slot. */
  | {
      type: 'waiting'
      waits: Waits
      /** The earliest of its times; none means ten years. */
      untilMs: number | undefined
      untilAt: string | undefined
      /** The calls that wait, or why it is parked. */
      reason: string
    }
  /** Given back untouched: a shutdown, a lease at risk, a prefetched job that waited too long. */
  | { type: 'released'; reason: string }

export type Ending = Exclude<Outcome, { type: 'completed' | 'handed-over' }>

/** An attempt that is over. */
export interface Ended {
  readonly held: HeldJob
  readonly outcome: Outcome
  readonly ranMs: number
}
