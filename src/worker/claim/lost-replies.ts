const unsureForMs = 60_000
/** Without held jobs and without a recent lost reply, one pass in this many asks the database. */
const idleShare = 6

/** Whether the database may have jobs under this worker that it does not know of: the reply to a claim can be lost. */
export class LostReplies {
  #isNew = false
  /** When the reply to a claim was lost, or may have been: the claim may commit later. */
  #lastAt = -Infinity
  #idlePasses = 0

  note(): void {
    this.#isNew = true
    this.#lastAt = performance.now()
  }

  /** Whether a reply was lost since the last call. */
  hasNew(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  /** Reconcile even when idle: orphaned claims exist exactly then. But an idle worker does it seldom. */
  isReconcileDue(jobsInHand: number): boolean {
    const isIdle = jobsInHand === 0 && performance.now() - this.#lastAt > unsureForMs
    this.#idlePasses = isIdle ? this.#idlePasses + 1 : 0
    return this.#idlePasses % idleShare === 0
  }
}
