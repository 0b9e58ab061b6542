/** Keys whose own buckets lack tokens, and when these come. Each rests until then, while other keys go on. */
export class DryKeys {
  readonly #until = new Map<string, number>()
  /** No key is due before this. */
  #nextAt = Infinity

  get nextAt(): number {
    return this.#nextAt
  }

  has(key: string): boolean {
    return this.#until.has(key)
  }

  add(key: string, until: number): void {
    this.#until.set(key, until)
    this.#nextAt = Math.min(this.#nextAt, until)
  }

  /** Takes out the keys whose tokens have come. */
  takeDue(now: number): string[] {
    if (now < this.#nextAt) return []
    const due = [...this.#until].filter(([, until]) => until <= now).map(([key]) => key)
    for (const key of due) this.#until.delete(key)
    this.#nextAt = Math.min(Infinity, ...this.#until.values())
    return due
  }
}
