import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { Database } from '../../src/db/database.ts'
import type { Queryable } from '../../src/db/statement.ts'
import { countEndings } from '../../src/flows/endings/endings.ts'
import type { EdgePlan, FlowPlan, NodePlan } from '../../src/flows/graph/plan.ts'
import { claim } from '../../src/jobs/claim.ts'
import { nextId } from '../../src/jobs/new/ids.ts'
import { prepareJob } from '../../src/jobs/new/new-job.ts'
import type { PreparedJob } from '../../src/jobs/new/new-job.ts'
import { start } from '../../src/jobs/position.ts'
import { HeldJob, HeldJobs } from '../../src/worker/attempt/held-job.ts'
import type { Outcome } from '../../src/worker/attempt/outcome.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { storeLinked } from '../../src/worker/settle/linked.ts'
import { Settler } from '../../src/worker/settle/settler.ts'
import type { TestDatabase } from '../support/database.ts'
import { straightWay } from '../support/way.ts'
import { newName } from '../support/workers.ts'

/** A contract for the jobs of one test. */
export function newContract(): JobContract {
  return defineJob({ kind: 'member', queue: newName('flow') })
}

export function prepared(contract: JobContract, input: unknown = null): PreparedJob {
  const job = prepareJob(contract, input, {}, undefined)
  if (job instanceof Promise) throw new Error('A contract without a schema is checked at once')
  return job
}

export interface NodeSketch {
  jobs?: number
  after?: Record<string, EdgePlan['when']>
  needs?: number
  onDead?: NodePlan['onDead']
}

/** A plan of nodes by name: `{ a: {}, b: { after: { a: 'succeeded' } } }`. The jobs have their node and place as input. */
export function planOf(
  contract: JobContract,
  sketch: Record<string, NodeSketch>,
  more: Partial<FlowPlan> = {},
): FlowPlan {
  const names = Object.keys(sketch)
  const nodes = Object.entries(sketch).map(
    ([name, { jobs = 1, after = {}, needs, onDead = 'hold' }]): NodePlan => ({
      name,
      after: Object.entries(after).map(([from, when]) => ({ node: names.indexOf(from), when })),
      needs,
      onDead,
      keepsOutputs: true,
      jobs: Array.from({ length: jobs }, (_, place) => prepared(contract, { node: name, place })),
    }),
  )
  return { id: nextId(), name: 'test', nodes, ...more }
}

export function connect(db: TestDatabase): Database {
  return new Database({
    url: db.url,
    schema: 'stint',
    poolSize: 4,
    deadlineMs: 20_000,
    applicationName: 'flows test',
  })
}

/** A session of the driver, for EXPLAIN. */
export async function openClient(db: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: straightWay(db.url) })
  await client.connect()
  return client
}

export const died: Outcome = {
  type: 'dead',
  reason: 'permanent',
  error: { class: 'permanent', name: 'Error', message: 'no', causes: [], fingerprint: 'f' },
  timedOut: false,
}
export const succeeded: Outcome = { type: 'succeeded', result: '{"ok":true}', children: [] }
export const cancelled: Outcome = { type: 'cancelled', reason: 'not wanted' }

/** A worker without loops: claims jobs and settles them when told to, by the real settler. */
export class HandWorker {
  readonly #db: Database
  readonly #contract: JobContract
  readonly #held = new HeldJobs()
  readonly #workerId = randomUUID()
  readonly settler: Settler
  /** Failures of counts, which a worker only reports. */
  readonly countTroubles: unknown[] = []

  constructor(db: Database, contract: JobContract) {
    this.#db = db
    this.#contract = contract
    const fail = (_part: string, trouble: unknown): never => {
      throw trouble
    }
    this.settler = new Settler({
      db,
      held: this.#held,
      handlers: new Handlers(),
      announcer: { stored: () => undefined },
      notes: { log: () => undefined, flush: () => Promise.resolve() },
      troubles: {
        of: fail,
        ofJobs: fail,
        beside: (_, error) => void this.countTroubles.push(error),
        wentWell: () => undefined,
      },
      budgets: { place: (_, retry) => retry },
    })
  }

  async claim(limit = 100): Promise<HeldJob[]> {
    const { kind, queue, version } = this.#contract
    const jobs = await claim(this.#db, {
      worker: this.#workerId,
      lease: randomUUID(),
      queue,
      kinds: JSON.stringify({ [kind]: version }),
      limit,
      priority: 0,
      floor: start,
    })
    return jobs.map((job) => {
      const held = new HeldJob(job, { heldSince: performance.now(), workerId: this.#workerId })
      this.#held.add(held)
      return held
    })
  }

  /** Ends an attempt; a job that was asked to stop ends as cancelled, as in a worker. */
  async end(held: HeldJob, outcome: Outcome): Promise<void> {
    const reason = held.job.more?.cancelReason ?? 'cancelled'
    const real: Outcome = held.job.more?.isCancelled === true ? { type: 'cancelled', reason } : outcome
    const { type } = await this.settler.settle({ held, outcome: real, ranMs: 1 })
    if (type !== 'stored') throw new Error(`Job ${held.job.id} had lost its lease`)
    this.#held.remove(held)
  }

  /** The process ends before the job has ended: its lease is lost, and what it still does is refused. */
  async dieBefore(held: HeldJob, outcome: Outcome): Promise<void> {
    await this.#db.query(
      `update stint.job set state = 'ready', worker_id = null, lease_id = null, attempt = attempt - 1 where id = $1`,
      [held.job.id],
    )
    const { type } = await this.settler.settle({ held, outcome, ranMs: 1 })
    if (type !== 'refused') throw new Error(`Job ${held.job.id} was ended by a worker that had lost it`)
    this.#held.remove(held)
  }

  /** The process ends after the job has ended, and before it counts the ending. */
  async dieAfter(held: HeldJob, outcome: Outcome): Promise<void> {
    const stored = await storeLinked(this.#db, [{ held, outcome, ranMs: 1 }], null)
    if (stored.length !== 1) throw new Error(`Job ${held.job.id} had lost its lease`)
    this.#held.remove(held)
  }

  /** Claims and ends jobs until none is ready, and all is counted. `deathOf` says where its process ends with a job. */
  async runAll(
    outcomeOf: (input: { node: string; place: number }, held: HeldJob) => Outcome,
    deathOf: () => 'before' | 'after' | undefined = () => undefined,
  ): Promise<void> {
    // A count may have released jobs after the last claim: quiet is a second claim that finds none.
    for (let quiet = 0; quiet < 2; quiet++) {
      const jobs = await this.claim()
      await Promise.all(
        jobs.map((held) => {
          const outcome = outcomeOf(held.job.input as { node: string; place: number }, held)
          const death = held.job.more?.isCancelled === true ? undefined : deathOf()
          if (death === 'before') return this.dieBefore(held, outcome)
          return death === 'after' ? this.dieAfter(held, outcome) : this.end(held, outcome)
        }),
      )
      await this.settler.stop()
      await countAll(this.#db)
      if (jobs.length > 0) quiet = -1
    }
    if (this.countTroubles.length > 0) throw new AggregateError(this.countTroubles, 'Counts failed')
  }
}

/** Counts every ending. */
export async function countAll(db: Queryable): Promise<void> {
  for (;;) {
    const rows = (await db.query('select distinct flow_id as id from stint.flow_ending limit 500', [])) as {
      id: string
    }[]
    if (rows.length === 0) return
    await countEndings(
      db,
      rows.map(({ id }) => id),
    )
  }
}
