import type { StoredError } from '../../core/failures/stored-error.ts'
import type { PutAside } from '../../jobs/claim.ts'
import type { Events, JobFacts } from './events.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { Logger } from './log.ts'
import type { PauseChange } from '../claim/pool-rules.ts'
import type { Child, Ended } from '../attempt/outcome.ts'

/** Reports in events and log lines how jobs ended; no other code does. */
export class Report {
  readonly #events: Events
  readonly #log: Logger
  readonly #isDebug: boolean

  constructor(events: Events, log: Logger) {
    this.#events = events
    this.#log = log
    // Read once: at tens of thousands of jobs a second even this call shows.
    this.#isDebug = log.isLevelEnabled?.('debug') ?? true
  }

  started(held: HeldJob): void {
    if (this.#events.has('started')) this.#events.emit('started', factsOf(held))
    if (this.#isDebug) this.#log.debug(factsOf(held), 'started')
  }

  settled({ held, outcome, ranMs: exactMs }: Ended): void {
    const ranMs = Math.round(exactMs)
    switch (outcome.type) {
      case 'succeeded':
      case 'completed':
      case 'handed-over':
        if (this.#events.has('succeeded')) this.#events.emit('succeeded', { ...factsOf(held), ranMs })
        if (this.#isDebug) this.#log.debug({ ...factsOf(held), ranMs }, 'succeeded')
        for (const child of outcome.children) this.#placed(held, child)
        return
      case 'retry': {
        const { error, delayMs, movedMs } = outcome
        this.#events.emit('failed', { ...factsOf(held), ranMs, error, delayMs })
        this.#log.warn(
          {
            ...factsOf(held),
            ranMs,
            delayMs: Math.round(delayMs),
            movedMs,
            class: error.class,
            error: `${error.name}: ${error.message}`,
          },
          'failed, will be tried again',
        )
        if (movedMs !== undefined)
          this.#events.emit('budget', { ...factsOf(held), class: error.class, delayMs, movedMs })
        return
      }
      case 'dead': {
        const { error, reason } = outcome
        this.#events.emit('dead', { ...factsOf(held), ranMs, error, reason })
        this.#log.error(
          {
            ...factsOf(held),
            ranMs,
            reason,
            class: error.class,
            error: `${error.name}: ${error.message}`,
            fingerprint: error.fingerprint,
          },
          'dead',
        )
        return
      }
      case 'cancelled':
        this.#events.emit('cancelled', { ...factsOf(held), reason: outcome.reason })
        this.#log.info({ ...factsOf(held), reason: outcome.reason }, 'cancelled')
        return
      case 'snoozed': {
        const { delayMs, reason } = outcome
        this.#events.emit('snoozed', { ...factsOf(held), delayMs, reason })
        this.#log.info({ ...factsOf(held), delayMs: Math.round(delayMs), reason }, 'snoozed')
        return
      }
      case 'waiting': {
        const { waits, reason } = outcome
        if (waits.parked === undefined) {
          this.#events.emit('waiting', { ...factsOf(held), ranMs, reason })
          this.#log.info({ ...factsOf(held), ranMs, reason }, 'waits, without a slot')
        } else {
          const { reason: why, tries } = waits.parked
          this.#events.emit('parked', { ...factsOf(held), reason: why, tries })
          this.#log.error({ ...factsOf(held), reason: why, tries }, 'parked: its steps have changed')
        }
        return
      }
      case 'crashed': {
        const { delayMs, reason } = outcome
        this.#events.emit('crashed', { ...factsOf(held), ranMs, delayMs, reason })
        this.#log.error(
          { ...factsOf(held), ranMs, delayMs: Math.round(delayMs), reason },
          'crashed: the process it ran in ended; will be tried again, alone',
        )
        return
      }
      case 'released':
        this.#events.emit('released', { ...factsOf(held), reason: outcome.reason })
        // A job that had begun will begin again. Jobs that only waited here are not worth a line, and may be thousands.
        if (held.startedAt > 0)
          this.#log.info({ ...factsOf(held), ranMs, reason: outcome.reason }, 'released')
        else if (this.#isDebug) this.#log.debug({ ...factsOf(held), reason: outcome.reason }, 'released')
        return
    }
  }

  /** This worker has read that a pause began or ended. */
  pauseChanged(queue: string, { type, kind, key }: PauseChange): void {
    this.#events.emit(type, { queue, kind, key })
    const what = kind === null && key === null ? 'the queue' : kind === null ? 'a key' : 'a kind'
    this.#log.info({ queue, kind, key }, `${type}: ${what}`)
  }

  /** It became a dead letter before it could be claimed. */
  putAside({ error, fingerprint, ...facts }: PutAside): void {
    const reason = 'invalid-row'
    this.#events.emit('dead', { ...facts, ranMs: 0, error: { ...error, fingerprint }, reason })
    this.#log.error(
      { ...facts, reason, error: error.message, fingerprint },
      'dead: its row cannot be claimed',
    )
  }

  #placed(held: HeldJob, { job, kind, queue, placed }: Child): void {
    if (placed === undefined || placed.placement === 'stored') return
    const child = { id: job.id, kind, queue }
    const facts = {
      ...factsOf(held),
      child,
      duplicateOf: placed.id,
      replaced: placed.placement === 'replaced',
    }
    this.#events.emit('duplicateChild', facts)
    this.#log.info(facts, 'a child was not stored: it is a duplicate of another job')
  }

  refused({ held, outcome, ranMs }: Ended): void {
    this.#events.emit('leaseLost', { ...factsOf(held), ranMs: Math.round(ranMs) })
    this.#log.warn(
      { ...factsOf(held), ranMs: Math.round(ranMs), outcome: outcome.type },
      'lease lost: what it did was refused, the job is run by others',
    )
  }

  abortedForLease(held: HeldJob, reason: Error): void {
    const ranMs = Math.round(performance.now() - held.startedAt)
    this.#log.warn(
      { ...factsOf(held), ranMs, error: reason.message },
      'aborted: its lease is lost or at risk',
    )
  }

  cancelAsked(held: HeldJob): void {
    this.#log.info(factsOf(held), 'asked to stop: a caller cancelled it')
  }

  stuck(held: HeldJob, { ranMs, stuckSlots }: { ranMs: number; stuckSlots: number }): void {
    const facts = { ...factsOf(held), ranMs: Math.round(ranMs), stuckSlots }
    this.#events.emit('stuck', facts)
    this.#log.error(
      facts,
      'stuck: its handler did not end when told to; its attempt is over, its slot replaced',
    )
  }

  thrownLate(held: HeldJob, error: StoredError): void {
    this.#events.emit('thrownLate', { ...factsOf(held), error })
    this.#log.error(
      { ...factsOf(held), error: `${error.name}: ${error.message}`, stack: error.stack },
      'uncaught error after the attempt was over: its ending stands',
    )
  }

  penalised(held: HeldJob, { rate, forMs }: { rate: string; forMs: number }): void {
    const facts = { ...factsOf(held), rate, forMs: Math.round(forMs) }
    this.#events.emit('penalised', facts)
    this.#log.warn(facts, 'penalised: its rate is closed for all processes')
  }

  slow(held: HeldJob, { ranMs, usualMs }: { ranMs: number; usualMs: number }): void {
    const facts = { ...factsOf(held), ranMs: Math.round(ranMs), usualMs: Math.round(usualMs) }
    this.#events.emit('slow', facts)
    this.#log.warn(facts, 'slow: running much longer than its kind usually does')
  }
}

export function factsOf({ job }: HeldJob): JobFacts {
  const { id, kind, queue, key, attempt, maxAttempts, epoch, more } = job
  return { id, kind, queue, key, attempt, maxAttempts, epoch, correlationId: more?.correlationId ?? id }
}
