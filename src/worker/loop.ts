import { setTimeout as pause } from 'node:timers/promises'

export interface LoopConfig {
  name: string
  everyMs: number
  /** Whether the first pass runs at the start. */
  isEager?: boolean | undefined
  /** How long after the start the first pass runs. @default everyMs */
  firstMs?: number | undefined
  /** How long to wait after this many failures in a row. @default everyMs */
  retryMs?: ((failures: number) => number) | undefined
  /** One pass. An error is reported, and the next pass runs nevertheless. */
  pass: () => Promise<void>
  onTrouble: (name: string, error: unknown) => void
}

/** Runs a pass again and again. A failed pass does not end it, and `ageMs` says how long ago a pass succeeded. */
export class Loop {
  readonly name: string
  readonly #config: LoopConfig
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #passing: Promise<void> | undefined
  #passingSince: number | undefined
  #lastOkAt = performance.now()
  #failures = 0

  constructor(config: LoopConfig) {
    this.name = config.name
    this.#config = config
  }

  /** How long ago a pass succeeded. */
  get ageMs(): number {
    return performance.now() - this.#lastOkAt
  }

  /** When the current turn began; most passes have one turn. Undefined while no pass is under way. */
  get since(): number | undefined {
    return this.#passingSince
  }

  /** Called by a pass of many turns at the end of each turn. */
  noteProgress(): void {
    if (this.#passingSince !== undefined) this.#passingSince = performance.now()
  }

  start(): void {
    if (this.#running === undefined && this.#config.isEager === true) void this.runOnce()
    this.#running ??= this.#run()
  }

  /** Runs a pass at once, or joins one that is under way. */
  runOnce(): Promise<void> {
    return (this.#passing ??= this.#pass().finally(() => (this.#passing = undefined)))
  }

  /** Aborted when the loop is stopped, for a pass that is under way. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#passing
  }

  async #run(): Promise<void> {
    const { everyMs, firstMs = everyMs, retryMs } = this.#config
    const { signal } = this.#stop
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const usualMs = isFirst ? firstMs : everyMs
      // Jittered, so that processes that start together do not ask together.
      const waitMs =
        this.#failures > 0 && retryMs !== undefined
          ? retryMs(this.#failures)
          : usualMs * (0.8 + Math.random() * 0.4)
      const isDue = await pause(waitMs, true, { signal, ref: false }).catch(() => false)
      if (isDue) await this.runOnce()
    }
  }

  async #pass(): Promise<void> {
    this.#passingSince = performance.now()
    try {
      await this.#config.pass()
      this.#lastOkAt = performance.now()
      this.#failures = 0
    } catch (error) {
      this.#failures++
      this.#config.onTrouble(this.name, error)
    } finally {
      this.#passingSince = undefined
    }
  }
}
