const unsureForMs = 60_000
/** Of the passes with nothing in hand and no trouble lately, one in so many asks the database. */
const quietShare = 6

/** Whether the database may have jobs in this worker's name that it knows nothing of: a claim's reply can be lost. */
export class Doubt {
  #isNew = false
  /** When a claim's reply was lost, or may have been: what it took can come to light later. */
  #aroseAt = -Infinity
  #quietPasses = 0

  arise(): void {
    this.#isNew = true
    this.#aroseAt = performance.now()
  }

  /** Whether it arose since this was last asked. */
  isNewly(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  /** With nothing in hand too, for what is here without our knowing is what it is about; but then seldom. */
  isWorthALook(jobsInHand: number): boolean {
    const isQuiet = jobsInHand === 0 && performance.now() - this.#aroseAt > unsureForMs
    this.#quietPasses = isQuiet ? this.#quietPasses + 1 : 0
    return this.#quietPasses % quietShare === 0
  }
}
