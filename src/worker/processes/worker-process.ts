import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { longestTimerMs } from '../../core/duration.ts'
import { readMessage } from './messages.ts'
import type { LeaseNote } from './messages.ts'

export interface End {
  code: number | null
  signal: NodeJS.Signals | null
  /** It could not even be started. */
  error?: Error
}

export interface WorkerProcessConfig {
  /** Arguments of node: what to run, with its own arguments. */
  args: readonly string[]
  onReady: () => void
  /** It did not end although it was asked to, so it is killed. */
  onKill: (patienceMs: number) => void
}

/** For a process that has not yet said how long its drain is. */
const usualDrainMs = 25_000
/** Time beyond its drain: to abort running jobs, to give them back, and to close its connections. */
const marginMs = 10_000
/** How long its last messages may take to arrive. */
const lastMessagesMs = 1_000
/**
 * One process that runs workers.
 *
 * It has a process group of its own. Ctrl-C in a terminal signals the supervisor's whole group: a process that got the
 * terminal's signal and then ours would count two, and cut its drain short. It reports its state over the channel; when
 * the channel breaks, because the supervisor was killed, it drains and ends by itself.
 */
export class WorkerProcess {
  /** All leases that its workers ever had. */
  readonly leases: LeaseNote[] = []
  /** Resolves when it has surely ended, and all its messages were received. */
  readonly exited: Promise<End>
  readonly #config: WorkerProcessConfig
  readonly #child: ChildProcess
  readonly #startedAt = performance.now()
  readonly #ready: Promise<void>
  #onReady: () => void = () => undefined
  #isReady = false
  #wasReady = false
  #askedBy: NodeJS.Signals | undefined
  #isKilled = false

  constructor(config: WorkerProcessConfig) {
    this.#config = config
    this.#ready = new Promise((resolve) => (this.#onReady = resolve))
    this.#child = spawn(process.execPath, config.args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: process.platform !== 'win32',
    })
    this.#child.on('message', (said) => {
      this.#hear(said)
    })
    this.exited = this.#endOf(this.#child)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** All its workers claim jobs, and it is not stopping. */
  get isReady(): boolean {
    return this.#isReady
  }

  get wasReady(): boolean {
    return this.#wasReady
  }

  /** Whether its end was asked for. */
  get isAsked(): boolean {
    return this.#askedBy !== undefined
  }

  get ageMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  async becomesReady(withinMs: number): Promise<'ready' | 'ended' | 'late'> {
    const late = new AbortController()
    try {
      return await Promise.race([
        this.#ready.then(() => 'ready' as const),
        this.exited.then(() => 'ended' as const),
        pause(withinMs, 'late' as const, { signal: late.signal }),
      ])
    } finally {
      late.abort()
    }
  }

  /** Asks it to drain and to end, once; kills it if it does not. */
  stop(signal: NodeJS.Signals): Promise<End> {
    if (this.#askedBy !== undefined) return this.exited
    this.#askedBy = signal
    this.#child.kill(signal)
    const drainMs =
      this.leases.length > 0 ? Math.max(...this.leases.map((lease) => lease.drainMs)) : usualDrainMs
    const patienceMs = Math.min(drainMs + marginMs, longestTimerMs)
    const timer = setTimeout(() => {
      this.#isKilled = true
      this.#config.onKill(patienceMs)
      this.#child.kill('SIGKILL')
    }, patienceMs)
    return this.exited.finally(() => {
      clearTimeout(timer)
    })
  }

  /** A further signal: its workers end their drain. */
  hurry(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Whether the process ended as asked. Before it handles signals, the first one kills it: it has no lease yet. */
  isInOrder({ code, signal }: End): boolean {
    if (this.#askedBy === undefined || this.#isKilled) return false
    return code === 0 || (signal === this.#askedBy && this.leases.length === 0)
  }

  /** How it ended, for people. */
  story({ code, signal, error }: End): string {
    if (this.#isKilled) return 'killed by its supervisor, because it did not stop in time'
    if (error !== undefined) return error.message
    return signal === null ? `exit code ${code ?? 0}` : `killed by ${signal}`
  }

  #hear(said: unknown): void {
    const message = readMessage(said)
    switch (message?.type) {
      case undefined:
        return
      case 'lease':
        this.leases.push(message)
        return
      case 'ready':
        this.#isReady = this.#wasReady = true
        this.#onReady()
        this.#config.onReady()
        return
      case 'stopping':
        this.#isReady = false
        return
    }
  }

  #endOf(child: ChildProcess): Promise<End> {
    const ended = new Promise<End>((resolve) => {
      child.on('error', (error) => {
        // Any other error, as from a signal to a process that has ended, is followed by its end.
        if (child.pid === undefined) resolve({ code: null, signal: null, error })
      })
      child.once('exit', (code, signal) => {
        // Waits for the channel to close, so that the last lease message is not missed; but another process may keep
        // the channel open.
        child.once('close', () => {
          resolve({ code, signal })
        })
        setTimeout(resolve, lastMessagesMs, { code, signal }).unref()
      })
    })
    return ended.finally(() => {
      this.#isReady = false
    })
  }
}
