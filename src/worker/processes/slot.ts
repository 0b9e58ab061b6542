import { waitAfterMs } from '../../db/wait.ts'
import type { Logger } from '../report/log.ts'
import type { Deaths } from './deaths.ts'
import { WorkerProcess } from './worker-process.ts'
import type { End } from './worker-process.ts'

export interface SlotConfig {
  /** From 1 up, for the log. */
  number: number
  /** Arguments of node: what to run, with its own arguments. */
  args: readonly string[]
  deaths: Deaths
  log: Logger
  onReady: () => void
  /** Its process ended without having been asked to. */
  onDeath: () => void
}

/** A process that ends sooner than this after its start died young: then the next one starts later. */
const youngMs = 30_000
/** How long a replacement may take to come up. */
const readyWithinMs = 60_000

/** One slot of a supervisor: it has one process, and starts another one when that ends. */
export class Slot {
  readonly #config: SlotConfig
  /** The current process, its replacement, and one that was replaced and drains. */
  readonly #living = new Set<WorkerProcess>()
  #current: WorkerProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #youngDeaths = 0
  #failedStarts = 0
  #isStopping = false

  constructor(config: SlotConfig) {
    this.#config = config
  }

  get isReady(): boolean {
    return this.#current?.isReady === true
  }

  /** How many processes in a row have ended before they were ready. */
  get failedStarts(): number {
    return this.#failedStarts
  }

  start(): void {
    this.#current = this.#spawn()
  }

  /**
   * Replaces the current process: it goes on until the new one is ready, and then drains. False if the new one did not
   * come up: then the old one stays.
   */
  async replace(): Promise<boolean> {
    const { log } = this.#config
    const next = this.#spawn()
    const outcome = await next.becomesReady(readyWithinMs)
    if (this.#isStopping) return false
    if (outcome === 'late') {
      log.error({ ...this.#about(next), afterMs: next.ageMs }, 'the replacement is not ready in time')
      await next.stop('SIGTERM')
    }
    if (outcome !== 'ready') return false
    // The old one may have died meanwhile.
    clearTimeout(this.#restart)
    const old = this.#current
    this.#current = next
    await old?.stop('SIGTERM')
    return true
  }

  /** Asks its processes to drain and starts no more; true if all of them ended in order. */
  async stop(signal: NodeJS.Signals): Promise<boolean> {
    this.#isStopping = true
    clearTimeout(this.#restart)
    const inOrder = await Promise.all(
      [...this.#living].map(async (process) => process.isInOrder(await process.stop(signal))),
    )
    return !inOrder.includes(false)
  }

  hurry(signal: NodeJS.Signals): void {
    for (const process of this.#living) process.hurry(signal)
  }

  #spawn(): WorkerProcess {
    const { args, log, onReady } = this.#config
    const process = new WorkerProcess({
      args,
      onReady: () => {
        log.info({ ...this.#about(process), afterMs: process.ageMs }, 'process ready')
        this.#failedStarts = 0
        onReady()
      },
      onKill: (afterMs) => {
        log.error({ ...this.#about(process), afterMs }, 'killed: it did not stop in time')
      },
    })
    this.#living.add(process)
    void process.exited.then((end) => {
      this.#ended(process, end)
    })
    return process
  }

  #ended(process: WorkerProcess, end: End): void {
    this.#living.delete(process)
    if (process.isInOrder(end)) return
    const { deaths, log, onDeath } = this.#config
    deaths.report(process.leases, process.story(end))
    const isCurrent = process === this.#current
    const restartInMs = isCurrent && !process.isAsked ? this.#startLater(process) : undefined
    log.error(
      {
        ...this.#about(process),
        code: end.code,
        signal: end.signal,
        ranMs: process.ageMs,
        ...(restartInMs === undefined ? {} : { restartInMs, youngDeaths: this.#youngDeaths }),
      },
      `process ended: ${process.story(end)}`,
    )
    if (isCurrent && !process.isAsked) onDeath()
  }

  /** Starts the next process; the wait grows while processes die young. */
  #startLater(dead: WorkerProcess): number {
    this.#current = undefined
    this.#youngDeaths = dead.ageMs < youngMs ? this.#youngDeaths + 1 : 0
    if (!dead.wasReady) this.#failedStarts++
    const waitMs = Math.round(waitAfterMs(this.#youngDeaths))
    this.#restart = setTimeout(() => {
      this.start()
    }, waitMs)
    return waitMs
  }

  #about({ pid }: WorkerProcess): { process: number; pid: number | undefined } {
    return { process: this.#config.number, pid }
  }
}
