import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FromWorker, Started, ToWorker, WorkerOrder, WorkerReport } from './worker-messages.ts'

const program = fileURLToPath(new URL('../work.ts', import.meta.url))

/** Starts so many workers, waits until all are ready, and then lets all of them claim at once. */
export async function startWorkers(
  order: WorkerOrder,
  count: number,
  onRan?: (started: Started) => void,
): Promise<WorkerProcess[]> {
  const workers = Array.from({ length: count }, () => new WorkerProcess(onRan))
  try {
    await Promise.all(workers.map((worker) => worker.ask({ type: 'prepare', order })))
    await Promise.all(workers.map((worker) => worker.ask({ type: 'start' })))
    return workers
  } catch (error) {
    await endWorkers(workers)
    throw error
  }
}

/** Kills at once: what they leave behind is in a store that is thrown away. */
export async function endWorkers(workers: readonly WorkerProcess[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.end()))
}

/** A worker in a process of its own, so that its CPU and memory are its own and no other timers delay it. */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #waiting: { resolve(answer: FromWorker): void; reject(error: Error): void } | undefined

  constructor(onRan?: (started: Started) => void) {
    // Starts arrive by the ten thousand, so they are sent in V8's format and not as JSON.
    this.#child = fork(program, { stdio: ['ignore', 2, 2, 'ipc'], serialization: 'advanced' })
    this.#child.on('message', (message: FromWorker) => {
      if (message.type === 'ran') onRan?.(message.started)
      else if (message.type === 'error') this.#waiting?.reject(new Error(message.message))
      else this.#waiting?.resolve(message)
    })
    this.#child.on('error', (error) => this.#waiting?.reject(error))
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#waiting?.reject(new Error(`a worker process ended with ${signal ?? code}`))
        resolve()
      })
    })
  }

  /** One question at a time. */
  ask(message: ToWorker): Promise<FromWorker> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#child.send(message, (error) => {
        if (error) reject(error)
      })
    })
  }

  async count(): Promise<number> {
    const answer = await this.ask({ type: 'count' })
    return answer.type === 'count' ? answer.runs : Number.NaN
  }

  async report(): Promise<WorkerReport> {
    const answer = await this.ask({ type: 'report' })
    if (answer.type !== 'report') throw new Error(`a worker process answered ${answer.type} to report`)
    return answer.report
  }

  async stop(): Promise<void> {
    await this.ask({ type: 'stop' })
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}
