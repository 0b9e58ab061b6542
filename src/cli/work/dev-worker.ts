import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { builtFile } from '../../node/built-file.ts'
import { say } from '../output/output.ts'

/** How long a worker may take to stop before it is killed. */
const patienceMs = 10_000

export interface DevWorkerOptions {
  file: string
  databaseUrl: string
}

/**
 * The worker of `stint dev`: a child process that is restarted on every change.
 *
 * It has its own process group, so that Ctrl-C reaches it only once, through this process: a second signal would make it
 * give up its jobs. When this process ends without having stopped it, the IPC channel closes, and the worker stops.
 */
export class DevWorker {
  readonly #options: DevWorkerOptions
  #child: ChildProcess | undefined
  #isStopping = false
  #isHurried = false
  /** A change since the last start, for which a restart is still to come. */
  #pending: string | undefined
  #restarting: Promise<void> | undefined

  constructor(options: DevWorkerOptions) {
    this.#options = options
  }

  start(): void {
    const { file, databaseUrl } = this.#options
    const main = builtFile('cli/main')
    const child = spawn(process.execPath, [...process.execArgv, main, 'work', file], {
      env: { ...process.env, DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: process.platform !== 'win32',
    })
    this.#child = child
    child.once('exit', (code, signal) => {
      if (this.#child !== child || this.#isStopping || this.#restarting !== undefined) return
      say(`worker ended ${signal === null ? `with code ${code ?? 0}` : `by ${signal}`}; waiting for a change`)
    })
  }

  /** Stops the worker and starts it again; changes in the meantime cause one more restart. */
  restart(reason: string): void {
    this.#pending = reason
    this.#restarting ??= this.#restartAll().finally(() => {
      this.#restarting = undefined
    })
  }

  /** Resolves when the worker has ended; it is not started again. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#end()
    await this.#restarting
  }

  /** For further signals while it stops: a worker gives up its jobs at the second signal, and is killed at the third. */
  hurry(): void {
    this.#child?.kill(this.#isHurried ? 'SIGKILL' : 'SIGTERM')
    this.#isHurried = true
  }

  async #restartAll(): Promise<void> {
    while (this.#pending !== undefined) {
      const reason = this.#pending
      this.#pending = undefined
      await this.#end()
      if (this.#isStopping) return
      this.start()
      say(`reloaded: ${reason} changed`)
    }
  }

  async #end(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    await exited
    clearTimeout(timer)
  }
}
