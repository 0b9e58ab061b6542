import { onTestFinished } from 'vitest'
import type { Ledger } from '../../support/ledger.ts'
import { spawnWorker, startWorker } from '../../support/worker-process.ts'
import type { Exit, WorkerProcess, WorkerSetup } from '../../support/worker-process.ts'

/** Workers that start and end, each under a new name. With `isRestarted`, a worker that ends is replaced at once. */
export class Fleet {
  readonly #ledger: Ledger
  readonly #setup: (name: string) => WorkerSetup
  readonly #isRestarted: boolean
  readonly #live = new Set<WorkerProcess>()
  readonly #expected = new Set<WorkerProcess>()
  /** Processes that ended although the test did not end them. */
  readonly exits: { worker: WorkerProcess; exit: Exit }[] = []
  #count = 0
  #isOver = false

  constructor({
    ledger,
    setup,
    isRestarted = false,
  }: {
    ledger: Ledger
    setup: (name: string) => WorkerSetup
    isRestarted?: boolean
  }) {
    this.#ledger = ledger
    this.#setup = setup
    this.#isRestarted = isRestarted
  }

  get live(): WorkerProcess[] {
    return [...this.#live]
  }

  /** How many workers were started so far. */
  get started(): number {
    return this.#count
  }

  /** The live workers that have reported that they are ready. */
  ready(): WorkerProcess[] {
    const names = new Set(this.#ledger.lines({ name: 'ready' }).map(({ worker }) => worker))
    return this.live.filter(({ name }) => names.has(name))
  }

  /** Starts one more worker without waiting for it. */
  spawn(): WorkerProcess {
    return this.#watch(spawnWorker(this.#ledger, this.#setup(this.#nextName())))
  }

  /** Starts one more worker, and waits until it claims. */
  async start(): Promise<WorkerProcess> {
    return this.#watch(await startWorker(this.#ledger, this.#setup(this.#nextName())))
  }

  /** Ends a worker; its end is expected and not counted in `exits`. */
  end(worker: WorkerProcess, signal: NodeJS.Signals): void {
    this.#expected.add(worker)
    this.#live.delete(worker)
    this.#ledger.append({ type: 'kill', worker: worker.name, signal })
    worker.signal(signal)
  }

  /** From now on, a worker that ends is not replaced. */
  close(): void {
    this.#isOver = true
  }

  #nextName(): string {
    return `worker ${++this.#count}`
  }

  #watch(worker: WorkerProcess): WorkerProcess {
    this.#live.add(worker)
    // Runs before the hook that kills the worker at the end of the test, so that it is not replaced then.
    onTestFinished(() => {
      this.close()
    })
    void worker.exited.then((exit) => {
      this.#live.delete(worker)
      if (this.#isOver || this.#expected.has(worker)) return
      this.exits.push({ worker, exit })
      this.#ledger.append({ type: 'kill', worker: worker.name, signal: exit.signal ?? `exit ${exit.code}` })
      if (this.#isRestarted) this.spawn()
    })
    return worker
  }
}
