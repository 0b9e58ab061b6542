const unsureForMs = 60_000
/** Without held jobs and without a recent lost reply, one pass in this many asks the database. */
const quietShare = 6

/** Whether the database may have jobs under this worker that it does not know of: the reply to a claim can be lost. */
export class Doubt {
  #isNew = false
  /** When the reply to a claim was lost, or may have been: the claim may commit later. */
  #aroseAt = -Infinity
  #quietPasses = 0

  arise(): void {
    this.#isNew = true
    this.#aroseAt = performance.now()
  }

  /** Whether a reply was lost since the last call. */
  isNewly(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  /** Reconcile even when idle: orphaned claims exist exactly then. But an idle worker does it seldom. */
  isWorthALook(jobsInHand: number): boolean {
    const isQuiet = jobsInHand === 0 && performance.now() - this.#aroseAt > unsureForMs
    this.#quietPasses = isQuiet ? this.#quietPasses + 1 : 0
    return this.#quietPasses % quietShare === 0
  }
}
