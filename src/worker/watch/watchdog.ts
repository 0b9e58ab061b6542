import { StintError } from '../../core/errors.ts'
import type { Part, Watched } from '../part.ts'

/**
 * Notices a loop that neither succeeds nor fails. Every call to the database has a deadline, so a turn that takes
 * longer than many of them is stuck in a way that nothing in this process can repair: the process has to end rather
 * than look healthy and do nothing.
 */
export class Watchdog implements Part {
  readonly #watched: readonly Watched[]
  readonly #limitMs: number
  readonly #giveUp: (error: Error) => void
  #timer: NodeJS.Timeout | undefined

  constructor(
    watched: readonly Watched[],
    { limitMs, giveUp }: { limitMs: number; giveUp: (error: Error) => void },
  ) {
    this.#watched = watched
    this.#limitMs = limitMs
    this.#giveUp = giveUp
  }

  start(): void {
    let checkedAt = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      // A process that was stopped, or blocked, could not turn its loops: they get their time again.
      const couldTurn = now - checkedAt < this.#limitMs / 2
      checkedAt = now
      if (couldTurn) this.#checkTurns(now)
    }, this.#limitMs / 10)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Loops that may be stuck: in one turn for half of the limit, so that a probe sees it before the process ends. */
  health(): string[] {
    return this.#longerThan(this.#limitMs / 2, performance.now()).map(
      ({ name, forMs }) => `'${name}' has come to no answer for ${Math.round(forMs / 1_000)} s`,
    )
  }

  #checkTurns(now: number): void {
    const [stuck] = this.#longerThan(this.#limitMs, now)
    if (stuck === undefined) return
    this.stop()
    const forS = Math.round(stuck.forMs / 1_000)
    const message = `'${stuck.name}' has come to no answer for ${forS} s, and never will.`
    this.#giveUp(new StintError('worker-stuck', message))
  }

  #longerThan(ms: number, now: number): { name: string; forMs: number }[] {
    return this.#watched
      .map(({ name, since }) => ({ name, forMs: now - (since() ?? now) }))
      .filter(({ forMs }) => forMs > ms)
  }
}
