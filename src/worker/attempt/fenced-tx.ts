import { setTimeout as pause } from 'node:timers/promises'
import { isStintError, StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { verdictOf } from '../../core/failures/verdict.ts'
import { classify, isIdleTimeout } from '../../db/classify.ts'
import type { DatabaseTrouble } from '../../db/classify.ts'
import type { Database, OwnTransaction } from '../../db/database.ts'
import type { PgTransaction } from '../../db/foreign-tx.ts'
import { isRefusal } from '../../jobs/new/refusal.ts'
import { effectResult, keepEffect, takeEffect } from '../../jobs/attempt/effect.ts'
import { ensurePartitions } from '../../jobs/ensure-partitions.ts'
import { settled } from '../../jobs/settle.ts'
import { holdRunning } from '../../jobs/attempt/while-running.ts'
import type { HeldJob } from './held-job.ts'
import { succeedIn } from '../settle/succeed-with-children.ts'
import type { Ended } from './outcome.ts'

/**
 * The user's writes and the fence, in one commit.
 *
 * First the job's row is locked under its lease and held until the COMMIT: a sweep, cancel or settle waits for it or
 * skips it, and a worker that lost its lease finds no row and gets no further. Then come the user's writes, and last
 * the completion, or the key of an effect. A crash at any point leaves either all of it or nothing.
 *
 * A worker that freezes in here would hold the row for ever. So the server ends its transaction after one lease without
 * a statement (idle_in_transaction_session_timeout, set for this transaction only, so it works through a pooler).
 *
 * When the answer to COMMIT is lost, the row is read again. That waits for the lost transaction's lock, so by the time
 * it answers the transaction has ended one way or the other: a row still there under our lease means that nothing was
 * committed; no row means that it was, or that the lease is gone, and history knows which.
 */
export class FencedTransactions {
  readonly #db: Database
  readonly #leaseMs: number
  /** How long a block may go on after its handler was told to end: it may be about to finish. */
  readonly #graceMs: number

  /**
   * `graceMs` is the time that a handler has altogether; a block that locks the row for longer would delay its ending.
   */
  constructor(db: Database, { leaseMs, graceMs }: { leaseMs: number; graceMs: number }) {
    this.#db = db
    this.#leaseMs = leaseMs
    this.#graceMs = Math.min(5_000, graceMs / 2)
  }

  /** Runs `work`, and completes the job with what it returns; both are stored, or neither. */
  async complete<Result>(
    held: HeldJob,
    { work, ended }: { work: (tx: PgTransaction) => Promise<Result>; ended: (value: Result) => Ended },
  ): Promise<Result> {
    return this.#withRetries(held, async (tx, theirs) => {
      const value = await theirs(() => work(tx.client))
      const moved = await succeedIn(tx, ended(value))
      if (moved.length === 0) throw leaseLost(held)
      return value
    })
  }

  /** Runs `work` once for a key, however often it is called; a repeat returns the first result. */
  async once<Result>(held: HeldJob, { key, holdMs, work, toText }: OnceOptions<Result>): Promise<Result> {
    const effect = { scope: held.job.kind, key }
    return this.#withRetries(
      held,
      async (tx, theirs) => {
        if (!(await takeEffect(tx, { ...effect, id: held.job.id, holdMs })))
          return (await effectResult(tx, effect)) as Result
        const text = toText(await theirs(() => work(tx.client)))
        await keepEffect(tx, { ...effect, result: text })
        // The value as a repeat will read it.
        return JSON.parse(text) as Result
      },
      // Repeating is safe: the key says whether it happened.
      { isRepeatable: true },
    )
  }

  /**
   * Runs `work` and stores the record of it; both are stored, or neither. Repeating is safe: `find` says whether it happened.
   */
  async recorded<Found extends { result: unknown }>(
    held: HeldJob,
    { find, work, keep }: RecordedOptions<Found>,
  ): Promise<unknown> {
    return this.#withRetries(
      held,
      async (tx, theirs) => {
        const found = await find(tx)
        if (found !== undefined) return found.result
        return keep(tx, await theirs(() => work(tx.client)))
      },
      { isRepeatable: true },
    )
  }

  /**
   * Repeats a transaction until it is known to be stored or refused. An error inside `theirs` is the handler's failure,
   * unless Postgres asks to repeat the transaction or our connection broke; any other error is ours, and no failure of
   * the handler.
   */
  async #withRetries<Result>(
    held: HeldJob,
    work: (tx: OwnTransaction, theirs: Theirs) => Promise<Result>,
    { isRepeatable = false }: { isRepeatable?: boolean } = {},
  ): Promise<Result> {
    const giveUpAt = performance.now() + this.#leaseMs
    let blocks = 0
    for (let tries = 1; ; tries++) {
      const at = { hasBegun: false, isTheirs: false }
      let done: { value: Result } | undefined
      let current: OwnTransaction | undefined
      const theirs: Theirs = async (run) => {
        blocks++
        at.hasBegun = at.isTheirs = true
        const value = await run()
        at.isTheirs = false
        return value
      }
      try {
        return await this.#db.transaction(async (tx) => {
          current = tx
          if (held.isGivenUp || !(await this.#hold(tx, held))) throw leaseLost(held)
          const unwatch = resetWhenAborted(tx, held, this.#graceMs)
          try {
            done = { value: await work(tx, theirs) }
            return done.value
          } finally {
            unwatch()
          }
        })
      } catch (error) {
        if (isLeaseLost(error) || isRefusal(error)) throw error
        // A verdict of the handler (such as a snooze) stands, also if the connection broke.
        const isCut = at.isTheirs && wasCut(current, error) && verdictOf(error, Date.now()) === undefined
        const trouble = isCut ? 'unknown' : classify(error)
        if (isCut) at.isTheirs = false
        const isLost = trouble === 'unknown' && !isRepeatable && !at.isTheirs
        if (isLost && done !== undefined && (await this.#wasCommitted(held))) return done.value
        const isOver = at.hasBegun ? blocks >= mostTries : performance.now() > giveUpAt
        if (isOver || held.abortedFor !== undefined || !isWorthAnother(trouble, at)) {
          throw at.isTheirs || at.hasBegun ? error : ownTrouble(error)
        }
        if (trouble === 'partition') await ensurePartitions(this.#db)
        await pause(Math.random() * Math.min(2_000, 50 * 2 ** tries))
      }
    }
  }

  #hold(tx: OwnTransaction, { job }: HeldJob): Promise<boolean> {
    return holdRunning(tx, { id: job.id, lease: job.leaseId, idleMs: Math.ceil(this.#leaseMs) })
  }

  /**
   * Whether a COMMIT whose answer was lost was done. If the database does not say, that is no failure of the handler.
   */
  async #wasCommitted(held: HeldJob): Promise<boolean> {
    const { job } = held
    const giveUpAt = performance.now() + this.#leaseMs
    for (;;) {
      try {
        if (await this.#db.transaction((tx) => this.#hold(tx, held))) return false
        const request = {
          ids: [job.id],
          leaseIds: [job.leaseId],
          sinceMs: performance.now() - held.heldSince,
        }
        if ((await settled(this.#db, request)).length > 0) return true
        throw leaseLost(held)
      } catch (error) {
        if (isStintError(error)) throw error
        const trouble = classify(error)
        const mayAnswer = trouble === 'unknown' || trouble === 'wait' || trouble === 'again'
        if (!mayAnswer || performance.now() > giveUpAt) throw ownTrouble(error)
        await pause(Math.random() * 200)
      }
    }
  }
}

/**
 * The user's statements have no deadline of ours. So when the lease is lost, or a while after an abort, the connection
 * is reset: nothing else would end a statement on a connection that hangs.
 */
function resetWhenAborted(tx: OwnTransaction, held: HeldJob, graceMs: number): () => void {
  let timer: NodeJS.Timeout | undefined
  const unlisten = held.listen((cause) => {
    if (cause === 'lease') tx.reset()
    else if (cause === 'timeout' || cause === 'cancel') {
      timer = setTimeout(() => {
        tx.reset()
      }, graceMs)
    }
  })
  return () => {
    unlisten()
    clearTimeout(timer)
  }
}

const ownTroubles = new WeakSet()

/** For a call of the context that was given up, because the database did not answer for the time of a lease. */
export function ownTrouble(cause: unknown): StintError {
  const message = `The database did not answer: ${messageOf(cause)}.`
  return asOwnTrouble(new StintError('database-unavailable', message, { cause }))
}

/** Notes that an error is no fault of the handler that got it. */
export function asOwnTrouble(error: StintError): StintError {
  ownTroubles.add(error)
  return error
}

/** Known by identity: the thrown value may be a proxy, so no property of it is read. */
export function isOwnTrouble(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && ownTroubles.has(thrown)
}

/**
 * Whether our connection broke under the handler's statements: then the error is not the handler's doing. An exception
 * is a handler that left the transaction idle for so long that the server ended it: the connection's own error says so,
 * or, behind a pooler, the error of the handler's next statement.
 */
function wasCut(tx: OwnTransaction | undefined, error: unknown): boolean {
  return tx?.lostBy !== undefined && !isIdleTimeout(tx.lostBy) && !isIdleTimeout(error)
}

/** Tries of one block, however it failed: it may cause effects elsewhere that nothing rolls back. */
const mostTries = 3

function isWorthAnother(trouble: DatabaseTrouble, { isTheirs }: { isTheirs: boolean }): boolean {
  if (isTheirs) return trouble === 'again'
  return trouble === 'again' || trouble === 'unknown' || trouble === 'wait' || trouble === 'partition'
}

/** Runs the handler's part of a transaction. */
type Theirs = <Value>(run: () => Promise<Value>) => Promise<Value>

interface OnceOptions<Result> {
  key: string
  holdMs: number
  work: (tx: PgTransaction) => Promise<Result>
  /** The JSON to store of the result. */
  toText: (value: Result) => string
}

interface RecordedOptions<Found> {
  /** The record, if an earlier try has stored it. */
  find: (tx: OwnTransaction) => Promise<Found | undefined>
  work: (tx: PgTransaction) => Promise<unknown>
  /** Stores the record, and returns the value as a repeat will read it. */
  keep: (tx: OwnTransaction, value: unknown) => Promise<unknown>
}

export function leaseLost({ job }: HeldJob): StintError {
  return new StintError(
    'lease-lost',
    `Job ${job.id} of '${job.kind}' is not this worker's any more (epoch ${job.epoch}): its lease was lost, and nothing it does now is kept.`,
    { jobIds: [job.id] },
  )
}

export function isLeaseLost(error: unknown): boolean {
  return isStintError(error, 'lease-lost')
}
