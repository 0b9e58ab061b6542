import type { JobState } from '../../core/job.ts'
import type { PgTransaction } from '../../db/foreign-tx.ts'
import { get } from '../../jobs/get.ts'
import { claimReply, findReply, forgetReply, keepReply, lockReply } from './stored-replies.ts'
import type { EarlierReply, KeptReply, OnceRequest } from './stored-replies.ts'
import type { Calls } from '../calls.ts'

/** What the work can use if it runs in the transaction that keeps its answer. */
export interface ReplyTransaction {
  /** For `enqueue(…, { tx })`. */
  tx: PgTransaction
  /** The state of a job as this transaction sees it. */
  stateOf: (id: string) => Promise<JobState | undefined>
}

/** How long an answer is kept for repeats. */
const keepMs = 24 * 3_600_000
/** Longer than any request takes: after this time, the process that took the key has ended. */
const holdMs = 60_000

/**
 * Answers of the console, kept so that a repeated request is done once and gets the same answer.
 *
 * `once` does the work and keeps its answer in one transaction: after any failure both are stored or neither. `take`,
 * `keep` and `drop` are for work that has its own transactions. If the process ends between the work and `keep`, a
 * repeat a minute later does the work again, so such work must be safe to repeat.
 */
export class Replies {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  once(
    request: OnceRequest,
    work: (tx: ReplyTransaction) => Promise<KeptReply>,
  ): Promise<EarlierReply | { type: 'done'; reply: KeptReply }> {
    return this.#calls.send((db, isRepeat) =>
      db.transaction(async (tx) => {
        if (!(await lockReply(tx, request, isRepeat))) return { type: 'busy' }
        // A separate statement, because it must see what was committed before we got the lock.
        const earlier = await findReply(tx, request)
        if (earlier !== undefined) return earlier
        const reply = await work({ tx: tx.client, stateOf: async (id) => (await get(tx, id))?.state })
        await keepReply(tx, request, reply, keepMs)
        return { type: 'done', reply }
      }),
    )
  }

  /** The kept answer; undefined if the caller must do the work now. */
  async take(request: OnceRequest): Promise<EarlierReply | undefined> {
    // If the reply to a claim was lost, the key may be our own. We cannot tell, and in a minute the claim expires.
    return this.#calls.send(async (db) => {
      if (await claimReply(db, request, holdMs)) return undefined
      const earlier = await findReply(db, request)
      if (earlier !== undefined) return earlier
      // The key was released in between.
      return (await claimReply(db, request, holdMs)) ? undefined : { type: 'busy' }
    })
  }

  async keep(request: OnceRequest, reply: KeptReply): Promise<void> {
    await this.#calls.send((db) => keepReply(db, request, reply, keepMs))
  }

  async drop(request: OnceRequest): Promise<void> {
    await this.#calls.send((db) => forgetReply(db, request))
  }
}
