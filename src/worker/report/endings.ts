import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import { sayWaitingEveryMs } from '../../jobs/wake-up/ended.ts'

/** A client that waits says so again before this time is over, even if one of its notifications is lost. */
const wantedForMs = 2.5 * sayWaitingEveryMs
const everyMs = 20
/** The most jobs that are named at once; clients find the others by polling. */
const mostIds = 2_000

/**
 * Names the jobs that ended, at most every 20 ms, while clients say that their callers wait for results. Otherwise it keeps
 * nothing and sends nothing.
 */
export class Endings {
  readonly #announcer: Pick<Announcer, 'ended'>
  #wanted: NodeJS.Timeout | undefined
  #ids: string[] = []
  #isSending = false

  constructor(announcer: Pick<Announcer, 'ended'>) {
    this.#announcer = announcer
  }

  /** A client says that its callers wait. */
  callersWait(): void {
    clearTimeout(this.#wanted)
    this.#wanted = setTimeout(() => {
      this.#wanted = undefined
    }, wantedForMs).unref()
  }

  ended(id: string): void {
    if (this.#wanted === undefined) return
    if (this.#ids.length < mostIds) this.#ids.push(id)
    if (!this.#isSending) void this.#send()
  }

  async #send(): Promise<void> {
    this.#isSending = true
    // Jobs that are settled together are named together.
    await nextTurn()
    while (this.#ids.length > 0) {
      const ids = this.#ids
      this.#ids = []
      await Promise.all([this.#announcer.ended(ids), pause(everyMs, undefined, { ref: false })])
    }
    this.#isSending = false
  }
}
