import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import type { Job, JobContract } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import type { WorkerEvents, WorkerOptions } from '../../src/worker.ts'
import { createTestDatabase } from './database.ts'
import type { TestDatabase } from './database.ts'
import { growingWait } from './eventually.ts'
import { patienceMs } from './patience.ts'
import { optionsOfLane } from './way.ts'

/** What a test file uses: its own database, and a client of it. */
export interface Scene {
  readonly db: TestDatabase
  readonly stint: Stint
}

/** Created before the first test of a file, and removed after the last. */
export function workerScene(): Scene {
  const scene: { db?: TestDatabase; stint?: Stint } = {}
  beforeAll(async () => {
    scene.db = await createTestDatabase()
    scene.stint = new Stint({ connection: scene.db.url })
  })
  afterAll(async () => {
    await scene.stint?.close()
    await scene.db?.drop()
  })
  return {
    get db() {
      return scene.db ?? missing()
    },
    get stint() {
      return scene.stint ?? missing()
    },
  }
}

function missing(): never {
  throw new Error('There is no scene outside of a test')
}

/** A name that no other test uses: for a queue, a kind, a key. */
export function newName(about = 'q'): string {
  return `${about}.${randomUUID().slice(0, 8)}`
}

/** A contract with its own queue, so that no worker of another test sees its jobs. Failures are retried at once. */
export function newJob(kind = 'job'): JobContract {
  const queue = newName(kind)
  return defineJob({ kind, queue, retry: { backoff: () => 1 } })
}

type EventName = keyof WorkerEvents
type Fact<Name extends EventName> = WorkerEvents[Name] extends [infer Only] ? Only : undefined

/** How many of the recorded events an error names when an expected one did not come. */
const lastTold = 40

/** A worker in this process that records all its events, so that a test misses none between two lines. */
export class TestWorker {
  readonly worker: Worker
  readonly #told = new Map<EventName, unknown[]>()
  readonly #names: EventName[] = []
  readonly #waiting = new Set<() => void>()

  constructor(worker: Worker) {
    this.worker = worker
    for (const name of eventNames) {
      worker.on(name, (...[fact]: unknown[]) => {
        this.#of(name).push(fact)
        this.#names.push(name)
        for (const look of [...this.#waiting]) look()
      })
    }
  }

  /** All events of this name so far. */
  told<Name extends EventName>(name: Name): Fact<Name>[] {
    return [...this.#of(name)] as Fact<Name>[]
  }

  /** The first `count` matching events of a name, already emitted or still to come. */
  async tells<Name extends EventName>(
    name: Name,
    match: (fact: Fact<Name>) => boolean = () => true,
    count = 1,
  ): Promise<Fact<Name>[]> {
    const told = this.#of(name) as Fact<Name>[]
    const found: Fact<Name>[] = []
    let looked = 0
    // Each event is checked once, because there may be thousands.
    const hasAll = (): boolean => {
      for (; looked < told.length && found.length < count; looked++) {
        const fact = told[looked] as Fact<Name>
        if (match(fact)) found.push(fact)
      }
      return found.length >= count
    }
    await this.until(hasAll, `${count} × ${name}`)
    return found
  }

  /** The next event of this name for the job, or the one already emitted. */
  async hears<Name extends JobEventName>(name: Name, id: string, count = 1): Promise<Fact<Name>> {
    const facts = await this.tells(name, (fact) => (fact as { id: string }).id === id, count)
    return facts.at(-1) ?? missing()
  }

  /** Resolves as soon as an event makes this true. */
  until(test: () => boolean, what = 'what the test waits for'): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!test()) return
        this.#waiting.delete(look)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(look)
        const last = this.#names.slice(-lastTold).join(', ')
        reject(
          new Error(`Nothing told of ${what}; of the ${this.#names.length} events so far the last: ${last}`),
        )
      }, patienceMs)
      this.#waiting.add(look)
      look()
    })
  }

  #of(name: EventName): unknown[] {
    let facts = this.#told.get(name)
    if (facts === undefined) this.#told.set(name, (facts = []))
    return facts
  }
}

type JobEventName =
  | 'started'
  | 'succeeded'
  | 'failed'
  | 'budget'
  | 'dead'
  | 'cancelled'
  | 'snoozed'
  | 'waiting'
  | 'parked'
  | 'released'
  | 'leaseLost'
  | 'slow'
  | 'penalised'
  | 'crashed'
  | 'duplicateChild'
  | 'stuck'
  | 'thrownLate'

const eventNames: readonly EventName[] = [
  ...([
    'ready',
    'started',
    'succeeded',
    'failed',
    'dead',
    'cancelled',
    'snoozed',
    'waiting',
    'parked',
    'released',
  ] as const),
  ...([
    'budget',
    'crashed',
    'duplicateChild',
    'stuck',
    'thrownLate',
    'leaseLost',
    'slow',
    'penalised',
    'swept',
    'regressed',
    'unknownKinds',
    'limited',
    'shed',
    'superseded',
    'fired',
    'scheduleFailed',
    'workerPaused',
    'workerResumed',
    'breaker',
    'workerLost',
    'trouble',
    'paused',
    'resumed',
    'stopping',
    'stopped',
  ] as const),
]

/** A silent worker that runs until the test is finished; `prepare` registers its handlers. */
export async function startWorker(
  { db }: Scene,
  { queues, ...options }: WorkerOptions,
  prepare: (worker: Worker) => unknown,
): Promise<TestWorker> {
  const defaults = { connection: db.url, log: false, drain: '5s', pollFloor: '200ms' } as const
  const all = { ...defaults, queues, ...options }
  const worker = new Worker({ ...optionsOfLane(all), ...all })
  prepare(worker)
  const test = new TestWorker(worker)
  await worker.start()
  onTestFinished(() => worker.stop())
  return test
}

/** A worker for the queue of one contract. */
export function startFor(
  scene: Scene,
  contract: JobContract,
  handler: Parameters<Worker['handle']>[1],
  options: WorkerOptions = {},
): Promise<TestWorker> {
  return startWorker(scene, { queues: { [contract.queue]: 4 }, ...options }, (worker) =>
    worker.handle(contract, handler),
  )
}

/** The job as it is stored now. */
export async function stored({ stint }: Scene, id: string): Promise<Job> {
  const job = await stint.get(id)
  expect(job).toBeDefined()
  return job ?? missing()
}

export interface AttemptRow {
  attempt: number
  epoch: number
  outcome: string
  reason: string | null
  error: { class: string; name: string; message: string; code?: string } | null
}

/** The stored attempts of a job, in order. */
export function attemptsOf({ db }: Scene, id: string): Promise<AttemptRow[]> {
  return db.query<AttemptRow & Record<string, unknown>>(
    `select attempt, epoch, outcome, reason, error from stint.attempt where job_id = $1 order by epoch, ended_at`,
    [id],
  )
}

/** Does what the sweep does to a job whose worker is lost: the job is ready again, and its old lease is invalid. */
export async function takeLease({ db }: Scene, id: string): Promise<void> {
  await db.query(
    `update stint.job set state = 'ready', worker_id = null, lease_id = null, attempt = attempt - 1
      where id = $1 and state = 'running'`,
    [id],
  )
}

/** A promise and the function that resolves it, for a handler and its test to wait for each other. */
export function gate<Value = undefined>(): { opened: Promise<Value>; open: (value: Value) => void } {
  let open: (value: Value) => void = missing
  const opened = new Promise<Value>((resolve) => (open = resolve))
  return { opened, open }
}

/** Repeats a check until it is true: only for changes that no event reports. */
export async function eventually(test: () => Promise<boolean>, what: string): Promise<void> {
  const endAt = performance.now() + patienceMs
  const wait = growingWait()
  while (!(await test())) {
    if (performance.now() > endAt) throw new Error(`Not in time: ${what}`)
    await wait()
  }
}
