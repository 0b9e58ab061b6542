/** Wakes one sleeper. Sticky: a ring without a sleeper ends the next sleep at once, so no ring is lost in between. */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, or after `ms`. */
  next(ms: number): Promise<void> {
    if (this.#isRung || ms <= 0) {
      this.#isRung = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wake = undefined
        this.#isRung = false
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#wake = wake
    })
  }
}
