/** When this worker last heard of jobs, claimed some or ended some. */
export class Activity {
  #at = -Infinity

  get at(): number {
    return this.#at
  }

  note(): void {
    this.#at = performance.now()
  }
}
