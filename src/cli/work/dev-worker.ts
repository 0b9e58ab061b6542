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
 * The worker of `stint dev`: a process of its own that is started again on every change.
 *
 * It has its own process group, so that Ctrl-C reaches it once, through us: a second signal would hurry it. A channel
 * tells it when we are gone without having stopped it.
 */
export class DevWorker {
  readonly #options: DevWorkerOptions
  #child: ChildProcess | undefined
  #isStopping = false
  #isHurried = false
  /** The change that a restart under way has not seen yet. */
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

  /** Stops it and starts it again; changes that come meanwhile make one more round. */
  restart(reason: string): void {
    this.#pending = reason
    this.#restarting ??= this.#restartAll().finally(() => {
      this.#restarting = undefined
    })
  }

  /** Resolves when it is gone, and no other will take its place. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#end()
    await this.#restarting
  }

  /** While it stops: a worker gives up its jobs at a second signal, and at a third it is killed. */
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
