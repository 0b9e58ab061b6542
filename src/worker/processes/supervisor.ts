import { HealthServer } from '../watch/health.ts'
import type { Logger } from '../report/log.ts'
import { Deaths } from './deaths.ts'
import { Slot } from './slot.ts'
import { hasTerminal } from './terminal.ts'

export interface SupervisorConfig {
  /** Number of worker processes. */
  processes: number
  /** Arguments of node: what each process runs, with its own arguments. */
  args: readonly string[]
  /** Where /healthz and /readyz are served for all of them. */
  health: { port: number; host: string } | undefined
  log: Logger
}

/**
 * Each process has this many tries to come up before the supervisor gives up; once one was ready, it never gives up.
 */
const firstTries = 3

/**
 * Keeps a number of worker processes running.
 *
 * It runs no jobs, knows nothing of the worker file and needs no database to do its work. Three things can happen:
 *
 * - A process ends by itself: another one replaces it, later and later while they die young (slot.ts), and its leases
 *   are reported lost, since only its parent knows for sure that it is gone (deaths.ts).
 * - SIGTERM or SIGINT: all drain, none is started again. A further one is passed on and hurries them.
 * - SIGHUP: a rolling restart, one slot after the other, each with a process that is ready before the old one stops.
 *
 * If it is killed itself, its processes see their channel break, drain and end (worker-process.ts).
 */
export class Supervisor {
  readonly #config: SupervisorConfig
  readonly #deaths: Deaths
  readonly #slots: readonly Slot[]
  readonly #hadTerminal = hasTerminal()
  #wasReady = false
  #isStopping = false
  #mustRoll = false
  #rolling: Promise<void> | undefined
  #onOver: (exitCode: number) => void = () => undefined
  readonly #over = new Promise<number>((resolve) => (this.#onOver = resolve))

  constructor(config: SupervisorConfig) {
    this.#config = config
    this.#deaths = new Deaths(config.log)
    this.#slots = Array.from(
      { length: config.processes },
      (_, index) =>
        new Slot({
          number: index + 1,
          args: config.args,
          deaths: this.#deaths,
          log: config.log,
          onReady: () => {
            this.#wasReady = true
          },
          onDeath: () => {
            this.#considerGivingUp()
          },
        }),
    )
  }

  /** Resolves when all processes have ended, with the exit code: 0 if they ended in order. */
  async run(): Promise<number> {
    const { log, processes } = this.#config
    const onStop = (signal: NodeJS.Signals): void => {
      this.#signalled(signal)
    }
    const onHangUp = (): void => {
      // SIGHUP from a closed terminal is no request for a restart: nothing would be left to stop the processes.
      if (this.#hadTerminal && !hasTerminal()) this.#signalled('SIGTERM')
      else this.#roll()
    }
    process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', onHangUp)
    let health: HealthServer | undefined
    try {
      health = await this.#startHealth()
      log.info({ pid: process.pid, processes }, 'supervisor started')
      for (const slot of this.#isStopping ? [] : this.#slots) slot.start()
      const exitCode = await this.#over
      await this.#deaths.told()
      log.info({ exitCode }, 'supervisor stopped')
      return exitCode
    } finally {
      await health?.close()
      process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', onHangUp)
    }
  }

  #signalled(signal: NodeJS.Signals): void {
    const { log } = this.#config
    if (this.#isStopping) {
      log.info({ signal }, 'stopping now')
      for (const slot of this.#slots) slot.hurry(signal)
      return
    }
    log.info({ signal }, 'stopping: all processes finish what runs')
    void this.#stop(signal).then((isInOrder) => {
      this.#onOver(isInOrder ? 0 : 1)
    })
  }

  async #stop(signal: NodeJS.Signals): Promise<boolean> {
    this.#isStopping = true
    const inOrder = await Promise.all(this.#slots.map((slot) => slot.stop(signal)))
    return !inOrder.includes(false)
  }

  /** If no process comes up, the cause is most likely a mistake in the file or its settings: more tries do not help. */
  #considerGivingUp(): void {
    if (this.#wasReady || this.#isStopping) return
    if (this.#slots.some(({ failedStarts }) => failedStarts < firstTries)) return
    this.#config.log.error(
      { tries: firstTries },
      'giving up: no process has come up; standard error says what is wrong',
    )
    void this.#stop('SIGTERM').then(() => {
      this.#onOver(1)
    })
  }

  /** A request during a rolling restart causes one more afterwards: some processes may be older than the request. */
  #roll(): void {
    this.#mustRoll = true
    this.#rolling ??= this.#rollAll().finally(() => {
      this.#rolling = undefined
    })
  }

  async #rollAll(): Promise<void> {
    const { log } = this.#config
    while (this.#mustRoll && !this.#isStopping) {
      this.#mustRoll = false
      log.info({}, 'rolling restart: begun')
      if (await this.#replaceAll()) log.info({}, 'rolling restart: done')
      else if (!this.#isOver()) log.error({}, 'rolling restart: stopped, a replacement did not come up')
    }
  }

  async #replaceAll(): Promise<boolean> {
    for (const slot of this.#slots) if (this.#isOver() || !(await slot.replace())) return false
    return true
  }

  #isOver(): boolean {
    return this.#isStopping
  }

  async #startHealth(): Promise<HealthServer | undefined> {
    const { health, processes, log } = this.#config
    if (health === undefined) return undefined
    const ready = (): number => this.#slots.filter(({ isReady }) => isReady).length
    const lacking = (enough: number): string[] =>
      ready() >= enough ? [] : [`${ready()} of ${processes} processes are ready`]
    const server = new HealthServer({
      // One ready process is enough: the others are being started again. A drain is no reason to be killed.
      healthz: () => (this.#isStopping ? [] : lacking(1)),
      readyz: () => (this.#isStopping ? ['it is stopping'] : lacking(processes)),
      facts: () => ({ processes, ready: ready() }),
    })
    const port = await server.listen(health)
    log.info({ port }, 'serving /healthz and /readyz')
    return server
  }
}
