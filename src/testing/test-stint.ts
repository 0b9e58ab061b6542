import { Stint } from '../client/stint.ts'
import type { StintOptions } from '../client/options.ts'
import { checkContract } from '../contracts/check-contract.ts'
import type { InputOf, JobContract } from '../contracts/contract.ts'
import type { Job } from '../core/job.ts'
import { functionOption, given, invalidOption, rejectUnknown } from '../core/options.ts'
import { Database } from '../db/database.ts'
import type { PgTransaction } from '../db/foreign-tx.ts'
import { synchroniseRules } from '../limits/synchronise.ts'
import { setSchedule } from '../schedules/set.ts'
import { stepName } from '../worker/attempt/steps/step-options.ts'
import type { WorkerOptions } from '../worker/options.ts'
import { runtimeConfig } from '../worker/runtime.ts'
import { usualServices } from '../worker/upkeep/services.ts'
import { Worker } from '../worker/worker.ts'
import { atEachBoundary } from './boundaries.ts'
import type { BoundaryEnd } from './boundaries.ts'
import { TestClock } from './clock.ts'
import { drain, oneAtATime } from './drain.ts'
import type { Drained, DrainConfig, DrainOptions } from './drain.ts'
import { enqueued, enqueuedIds, expectEnqueued } from './enqueued.ts'
import type { EnqueuedRecord, ExpectEnqueuedOptions, PartOf } from './enqueued.ts'
import { testServer } from './server.ts'
import type { TestServer } from './server.ts'
import { stayAwake } from './stay-awake.ts'
import { TestSteps } from './steps.ts'

export interface TestStintOptions<Tx = PgTransaction> {
  /** Registers handlers, middleware, schedules and listeners on the worker of the test, which is never started. */
  handlers?: ((worker: Worker) => unknown) | undefined
  /**
   * A login that may create databases, on the server where the database of the test is made.
   * @default DATABASE_URL, else the embedded PostgreSQL
   */
  connection?: string | undefined
  /** Where the clock begins. @default the time of the machine */
  now?: Date | undefined
  /** Options of `t.stint`. */
  stint?: Omit<StintOptions<Tx>, 'connection' | 'schema'> | undefined
  /**
   * Options of the worker whose code drain() runs. Queues that they do not name run one job at a time.
   * @default { lease: '5m', log: false }
   */
  worker?: TestWorkerOptions | undefined
}

/** Options of a process that runs for long, and of slots that queues share: a drain decides these itself. */
const decided = [
  ...(['connection', 'listenConnection', 'schema', 'concurrency', 'order'] as const),
  ...(['notify', 'upkeep', 'health', 'children'] as const),
]

export type TestWorkerOptions = Omit<WorkerOptions, (typeof decided)[number]>

/**
 * A database of its own for a test, with a client, a clock and the handlers of your worker. Close it at the end of the
 * test, or declare it with `await using`.
 */
export async function testStint<Tx = PgTransaction>(
  options: TestStintOptions<Tx> = {},
): Promise<TestStint<Tx>> {
  const { handlers, connection, now, stint, worker: workerOptions, ...rest } = options
  rejectUnknown('testStint()', rest, ['handlers', 'connection', 'now', 'stint', 'worker'])
  const wanted: WorkerOptions = given({ ...workerOptions })
  for (const name of decided)
    if (name in wanted) throw invalidOption(`worker.${name}`, 'left out: drain() decides it', wanted[name])
  // Before a database is made: a wrong registration costs nothing.
  const worker = new Worker({ lease: '5m', log: false, queues: { default: oneAtATime }, ...wanted })
  if (handlers !== undefined) await functionOption('handlers', handlers)(worker)
  return stayAwake(async () => {
    const server = await testServer(connection)
    const url = await server.create()
    try {
      const client = new Stint<Tx>({ ...stint, connection: url })
      const test = new TestStint<Tx>({ url, server, worker, stint: client })
      await test[beginning](now)
      return test
    } catch (error) {
      await server.drop(url)
      throw error
    }
  })
}

interface TestStintParts<Tx> {
  url: string
  server: TestServer
  worker: Worker
  stint: Stint<Tx>
}

const beginning = Symbol('beginning')
const deadlineMs = 30_000

/** What testStint() returns. */
export class TestStint<Tx = PgTransaction> {
  /** A client of the database of this test. */
  readonly stint: Stint<Tx>
  /** The URL of the database of this test, for your own tables and connections. */
  readonly url: string
  /** The time of the database. It stands still until you move it. */
  readonly clock: TestClock
  readonly #server: TestServer
  readonly #db: Database
  readonly #draining: DrainConfig
  readonly #steps = new TestSteps()
  #drains: Promise<unknown> = Promise.resolve()
  /** How often the clock was moved when retention ran last. */
  #keptAt = 0
  #closing: Promise<void> | undefined

  /** @internal */
  constructor({ url, server, worker, stint }: TestStintParts<Tx>) {
    this.url = url
    this.stint = stint
    this.#server = server
    this.#db = new Database({
      url,
      schema: 'stint',
      poolSize: 4,
      deadlineMs,
      applicationName: 'stint testing',
    })
    this.clock = new TestClock(this.#db)
    this.#draining = { db: this.#db, url, own: worker[runtimeConfig](), steps: this.#steps }
  }

  /** @internal Stops the clock, and stores schedules and rules, which count from now on. */
  async [beginning](now: Date | undefined): Promise<void> {
    const { worker, schedules, handlers } = this.#draining.own
    await this.clock.set(now ?? new Date())
    // The template has the partitions of its own days.
    if (now === undefined) this.#keptAt = this.clock.moves
    for (const schedule of schedules)
      await setSchedule(this.#db, schedule, { source: 'code', appVersion: worker.version })
    await synchroniseRules(this.#db, worker.flow, handlers.contracts)
  }

  /**
   * Runs all jobs that are ready or due, those that they enqueue, and due schedules, in this process, until nothing is
   * left to do at the time of the clock. Two calls at once run one after the other.
   */
  drain(options?: DrainOptions): Promise<Drained> {
    const drained = stayAwake(async () => {
      await this.#drains
      await this.#keep()
      return drain(this.#draining, options)
    })
    this.#drains = drained.catch(() => undefined)
    return drained
  }

  /**
   * From now on a step of this name in handlers of this kind does not call its function. `result` is recorded in place of what
   * it returns; a function is called with what the step's own would get.
   */
  mockStep(contract: JobContract, step: string, result: unknown): void {
    checkContract(contract)
    this.#steps.mock(contract.kind, stepName(step), result)
  }

  /**
   * Runs `start` and a drain, and calls `check` with how it ended. Then again for each record that the handlers stored: behind
   * it the worker loses its memory, as if it was killed, and another one takes its jobs over. Returns the number of records.
   *
   * `start` enqueues a new job and returns it. It may drain, move the clock and send signals, for a job that waits.
   */
  atEachBoundary(
    start: () => Promise<{ id: string }>,
    check: (end: BoundaryEnd) => unknown,
  ): Promise<number> {
    const runs = {
      steps: this.#steps,
      drain: () => this.drain(),
      job: (id: string) => this.stint.get(id),
      enqueued: () => enqueuedIds(this.#db),
    }
    return atEachBoundary(runs, start, check)
  }

  /** A job by its id; undefined if there is none. */
  job(id: string): Promise<Job | undefined> {
    return this.stint.get(id)
  }

  /** The jobs of a contract that were enqueued since the start, in their order: by clients, handlers, schedules and SQL. */
  enqueued<Contract extends JobContract>(contract: Contract): Promise<EnqueuedRecord<InputOf<Contract>>[]> {
    return enqueued(this.#db, contract)
  }

  /**
   * Throws an AssertionError that lists what was enqueued, unless a job of this contract with this input is among it.
   * Fields that `input` leaves out are not compared.
   */
  expectEnqueued<Contract extends JobContract>(
    contract: Contract,
    input?: PartOf<InputOf<Contract>>,
    options?: ExpectEnqueuedOptions,
  ): Promise<void> {
    return expectEnqueued(this.#db, contract, input, options)
  }

  /** Closes the client and drops the database. A second call does nothing. */
  close(): Promise<void> {
    return (this.#closing ??= stayAwake(() => this.#close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#drains
    await this.stint.close()
    await this.#db.close()
    await this.#server.drop(this.url)
  }

  /** Does what the leading worker would have done meanwhile: partitions and retention. */
  async #keep(): Promise<void> {
    const { moves } = this.clock
    if (moves === this.#keptAt) return
    this.#keptAt = moves
    const { blobs } = this.#draining.own.worker
    const services = usualServices({ blobs: blobs?.store, stirredAt: () => performance.now() })
    const { signal } = new AbortController()
    for (const service of services)
      // In a database that lives for a moment, no index is worth a rebuild.
      if (service.name !== 'indexes') await service.runOnce(this.#db, { signal, onPassedBy: () => undefined })
  }
}
