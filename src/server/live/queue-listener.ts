import type { LiveSource } from './source.ts'

/** However much is stored, no more queues are remembered from one look to the next. */
const mostQueues = 1_000

/** Hears of queues in which something is stored: the one LISTEN of a console, while somebody looks. Nothing hangs on it. */
export class QueueListener {
  readonly #source: Pick<LiveSource, 'listen'>
  readonly #stored = new Set<string>()
  #listening: Promise<() => Promise<void>> | undefined
  #ending: Promise<void> | undefined

  constructor(source: Pick<LiveSource, 'listen'>) {
    this.#source = source
  }

  get isListening(): boolean {
    return this.#listening !== undefined
  }

  /** Never fails. */
  begin(): void {
    this.#listening ??= this.#source
      .listen((queues) => {
        for (const queue of queues) if (this.#stored.size < mostQueues) this.#stored.add(queue)
      })
      .catch(() => () => Promise.resolve())
  }

  /** The queues it has heard of since it was asked last. */
  take(): string[] {
    const queues = [...this.#stored]
    this.#stored.clear()
    return queues
  }

  end(): void {
    this.#stored.clear()
    const listening = this.#listening
    this.#listening = undefined
    this.#ending = listening?.then((stop) => stop())
  }

  /** When its connection is given back. */
  async ended(): Promise<void> {
    await this.#ending
  }
}
