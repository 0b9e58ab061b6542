/** When this worker last heard of jobs, or took or ended some. */
export class Activity {
  #at = -Infinity

  get at(): number {
    return this.#at
  }

  note(): void {
    this.#at = performance.now()
  }
}
