import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { guard } from './guard.ts'

/** Keeps a started server's process and folder together until both are gone; `lastSignal` is for the guard. */
export class Server {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #ended: Promise<void>
  readonly #standDown: () => void

  constructor(child: ChildProcess, folder: string, lastSignal: 'QUIT' | 'KILL') {
    this.#child = child
    this.#folder = folder
    this.#ended = new Promise((resolve) =>
      child.once('exit', () => {
        resolve()
      }),
    )
    this.#standDown = child.pid === undefined ? () => {} : guard(child.pid, folder, lastSignal)
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Asks by the signal that means "now, but in order" to this server, and stops asking after ten seconds. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    if (!this.hasEnded) this.#child.kill(signal)
    await this.#ended
    clearTimeout(timer)
    await rm(this.#folder, { recursive: true, force: true })
    this.#standDown()
  }
}
