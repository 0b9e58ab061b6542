import type { Bound, Queryable } from '../../db/statement.ts'
import { cancelPayload, farthestHintMs, rulesPayload, schedulesPayload } from './hint.ts'
import type { Hint } from './hint.ts'
import { endedChannelOf, endedPayloadsOf, waitingPayload } from './ended.ts'
import { ringLocally } from './local.ts'
import { Notifier } from './notify.ts'

/** When a caller's transaction has probably committed. We do not see its commit, and a hint too early does no harm. */
const probablyCommittedMs = [15, 150] as const

export interface AnnouncerConfig {
  database: () => Promise<Queryable>
  /** The key under which workers of this process listen; undefined while no connection is open. */
  localKey: () => string | undefined
  /** Whether workers of other processes are notified. */
  notify: boolean
}

/** Tells workers that a job was stored: those of this process directly, others by NOTIFY after the commit. */
export class Announcer {
  readonly #config: AnnouncerConfig
  readonly #notifier: Notifier

  constructor(config: AnnouncerConfig) {
    this.#config = config
    this.#notifier = new Notifier(config.database)
  }

  /**
   * The statement that tells other processes about jobs that are about to be stored. It is sent right behind the
   * statement that stores them, and so does not wait until we know of the commit. Undefined if no such statement has to
   * be sent.
   */
  behind(hints: ReadonlySet<Hint>, schema: string): Bound | undefined {
    return this.#config.notify ? this.#notifier.take(soonOf(hints), schema) : undefined
  }

  /**
   * For jobs that are committed; `isTold` if the statement of `behind()` has told other processes. Jobs that are found
   * in the same way share one hint object.
   */
  stored(hints: ReadonlySet<Hint>, { isTold = false }: { isTold?: boolean } = {}): void {
    const key = this.#config.localKey()
    if (key !== undefined) ringLocally(key, [...hints])
    if (!this.#config.notify || isTold) return
    const soon = soonOf(hints)
    if (soon.length > 0) this.#notifier.hint(soon)
  }

  /** A job that runs under this worker was asked to stop. */
  askedToStop(worker: string): void {
    if (this.#config.notify) void this.#notifier.say(cancelPayload(worker))
  }

  /** Schedules were changed. */
  schedulesChanged(): void {
    if (this.#config.notify) void this.#notifier.say(schedulesPayload)
  }

  /** Rules of flow control were changed. */
  rulesChanged(): void {
    if (this.#config.notify) void this.#notifier.say(rulesPayload)
  }

  /** Callers of this process wait for results. Resolves once workers could hear it. */
  async callersWait(): Promise<void> {
    if (this.#config.notify) await this.#notifier.say(waitingPayload)
  }

  /** These jobs have ended, and callers wait for results. Resolves when it is sent. */
  async ended(ids: readonly string[]): Promise<void> {
    if (this.#config.notify) await this.#notifier.notify(endedPayloadsOf(ids), endedChannelOf)
  }

  /** For jobs that were stored in a caller's transaction, whose commit we do not see. */
  storedInTransaction(hints: ReadonlySet<Hint>): void {
    for (const ms of probablyCommittedMs) {
      setTimeout(() => {
        this.stored(hints)
      }, ms).unref()
    }
  }
}

function soonOf(hints: ReadonlySet<Hint>): Hint[] {
  return [...hints].filter(({ inMs }) => inMs <= farthestHintMs)
}
