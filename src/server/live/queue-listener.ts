import type { LiveSource } from './source.ts'

/** Queues remembered at most between two polls. */
const mostQueues = 1_000

/**
 * The one LISTEN of a console: it collects the names of queues with new jobs, while there are viewers. It only makes
 * screens faster; if it fails, polling still finds everything.
 */
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

  /** Starts listening. A failure is ignored. */
  begin(): void {
    this.#listening ??= this.#source
      .listen((queues) => {
        for (const queue of queues) if (this.#stored.size < mostQueues) this.#stored.add(queue)
      })
      .catch(() => () => Promise.resolve())
  }

  /** The queues with new jobs since the last call. */
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

  /** Resolves when the connection is released. */
  async ended(): Promise<void> {
    await this.#ending
  }
}
