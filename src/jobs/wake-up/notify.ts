import { invalidOption } from '../../core/options.ts'
import { bind, run } from '../../db/statement.ts'
import type { Bound, Queryable } from '../../db/statement.ts'
import { channelOf, payloadsOf } from './hint.ts'
import type { Hint } from './hint.ts'
import { notifySql } from './notify.sql.ts'

/** The default of `notify`: STINT_NOTIFY, so that it can be switched off if a pooler is in between. */
export function isNotifyUsual(environment: NodeJS.ProcessEnv): boolean {
  const said = environment['STINT_NOTIFY'] ?? ''
  if (said === '' || said === 'on') return true
  if (said === 'off') return false
  throw invalidOption('STINT_NOTIFY', "'on' or 'off'", said)
}

/** A process sends hints at most this often: workers that are awake find the other jobs by themselves. */
const everyMs = 5
/** Keys that one NOTIFY names. */
const mostKeys = 50

/**
 * Sends hints to other processes: the first at once, those that follow gathered and at most every few milliseconds.
 * Failures are ignored: a worker that was not woken polls.
 */
export class Notifier {
  readonly #database: () => Promise<Queryable>
  readonly #waiting = new Map<string, Hint>()
  /** Hints among them that name a key. */
  #named = 0
  #timer: NodeJS.Timeout | undefined
  #lastAt = -Infinity
  #isSending = false

  constructor(database: () => Promise<Queryable>) {
    this.#database = database
  }

  hint(hints: readonly Hint[]): void {
    for (const one of hints) this.#add(one)
    if (this.#timer !== undefined || this.#isSending) return
    const waitMs = this.#lastAt + everyMs - performance.now()
    if (waitMs <= 0) return void this.#send()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#send()
    }, waitMs)
    // A process that has nothing else to do may end: nothing waits for a hint.
    this.#timer.unref()
  }

  /** The NOTIFY statement for these hints, for the caller to send; undefined while hints are being gathered. */
  take(hints: readonly Hint[], schema: string): Bound | undefined {
    const mayGo = this.#waiting.size === 0 && !this.#isSending && performance.now() >= this.#lastAt + everyMs
    if (!mayGo || hints.length === 0) return undefined
    for (const one of hints) this.#add(one)
    return bind(notifySql, schema, { channel: channelOf(schema), payloads: this.#payloads() })
  }

  /** Sends one payload at once. */
  say(payload: string): Promise<void> {
    return this.notify([payload])
  }

  /** Sends payloads at once, to workers unless another channel is given. */
  async notify(
    payloads: readonly string[],
    channelIn: (schema: string) => string = channelOf,
  ): Promise<void> {
    try {
      const database = await this.#database()
      await run(database, notifySql, { channel: channelIn(database.schema), payloads }, () => undefined)
    } catch {
      // Hints may be lost: polling finds the job.
    }
  }

  /**
   * Jobs that are found in the same way share one hint for those that are ready, and one for the first to fall due: the
   * worker finds the others when it claims.
   */
  #add(hint: Hint): void {
    // A few keys are named; where there are more, workers look for them.
    const told = hint.key === undefined || this.#named < mostKeys ? hint : { ...hint, key: undefined }
    const name = `${told.queue} ${told.priority} ${told.keyed} ${told.inMs > 0} ${told.key ?? ''}`
    const known = this.#waiting.get(name)
    if (known === undefined && told.key !== undefined) this.#named++
    if (known === undefined || told.inMs < known.inMs) this.#waiting.set(name, told)
  }

  /** The payloads of all gathered hints, to be sent now. */
  #payloads(): string[] {
    const hints = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#named = 0
    this.#lastAt = performance.now()
    return payloadsOf(hints)
  }

  async #send(): Promise<void> {
    if (this.#waiting.size === 0) return
    this.#isSending = true
    await this.notify(this.#payloads())
    this.#isSending = false
    if (this.#waiting.size > 0) this.hint([])
  }
}
