import type { FlowBuilder, FlowDefinition } from '../../contracts/flow.ts'
import type { NodeType } from '../../contracts/flow-references.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import { peek } from '../../core/failures/thrown.ts'
import { boundedText } from '../../core/names.ts'
import { invalidOption, rejectUnknown } from '../../core/options.ts'
import type { Queryable } from '../../db/statement.ts'
import { enqueueFlows, startingHints } from '../../flows/graph/enqueue.ts'
import type { PlacedFlow } from '../../flows/graph/enqueue.ts'
import { mostJobs } from '../../flows/graph/plan.ts'
import type { FlowPlan } from '../../flows/graph/plan.ts'
import { prepareFlow, takesMore } from '../../flows/graph/prepare.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import type { Calls } from '../calls.ts'
import { Batch } from './batch.ts'
import type { EnqueuedFlow, FlowsParts } from './flow-parts.ts'
import { FlowVerbs } from './flow-verbs.ts'

export interface EnqueueFlowOptions<Tx> {
  /** One open flow of this name may have this key: a second enqueue returns the first one. At most 512 bytes. */
  unique?: string | undefined
  /** The same for all its jobs, their logs and traces. @default the flow's id */
  correlationId?: string | undefined
  traceparent?: string | undefined
  tracestate?: string | undefined
  /** Store it in your transaction: it exists once you commit, and never if you roll back. */
  tx?: Tx | undefined
}

export interface EnqueueFlowsOptions<Tx> extends Omit<EnqueueFlowOptions<Tx>, 'unique'> {
  /** The unique key of a flow, by its place in the list. */
  unique?: ((index: number) => string | undefined) | undefined
}

/** Jobs that start after other jobs have ended. */
export class Flows<Tx> extends FlowVerbs {
  readonly #calls: Calls
  readonly #parts: FlowsParts<Tx>

  constructor(calls: Calls, parts: FlowsParts<Tx>) {
    super(calls, {
      onReady: (hints) => {
        parts.stored(new Set(hints), false)
      },
    })
    this.#calls = calls
    this.#parts = parts
  }

  /** Stores a flow with all its jobs, or nothing. */
  async enqueue(flow: FlowDefinition, options: EnqueueFlowOptions<Tx> = {}): Promise<EnqueuedFlow> {
    const { unique, ...more } = options
    const [stored] = await this.#enqueue([flow], { ...more, unique: () => unique }, { isMany: false })
    return stored ?? missing(flow)
  }

  /** Stores many flows, all or none, in the order of the list. They have up to 100,000 jobs together. */
  async enqueueMany(
    flows: Iterable<FlowDefinition>,
    options: EnqueueFlowsOptions<Tx> = {},
  ): Promise<EnqueuedFlow[]> {
    return this.#enqueue([...flows], options, { isMany: true })
  }

  /**
   * Stores a flow whose first groups, those that wait for nothing, take more jobs until the batch is closed. With `unique`,
   * another process gets the batch of the open flow and goes on with it.
   */
  async open<Nodes>(
    flow: FlowBuilder<Nodes>,
    options: Omit<EnqueueFlowOptions<Tx>, 'tx'> = {},
  ): Promise<Batch<Nodes & Record<never, NodeType>>> {
    checkFlow(flow)
    const growing = flow.nodes.filter(takesMore)
    if (growing.length === 0)
      throw new StintError(
        'invalid-input',
        `Flow '${flow.name}' has no group that takes more jobs. Add one by \`.jobs()\` without \`after\`.`,
        { issues: [{ path: 'flow.nodes', message: 'has no group without `after`' }] },
      )
    const { unique, ...more } = options
    const enqueueOptions = { ...more, unique: () => unique }
    const [stored = missing(flow)] = await this.#enqueue([flow], enqueueOptions, {
      isMany: false,
      isOpen: true,
    })
    const common = { correlationId: stored.id, ...this.#common(more) }
    return new Batch(stored, flow, { ...this.#parts, calls: this.#calls, common })
  }

  #common({ correlationId, traceparent, tracestate }: EnqueueFlowsOptions<Tx>): JobOptions {
    const own = Object.entries({ correlationId, traceparent, tracestate }).filter(
      ([, value]) => value !== undefined,
    )
    return { ...this.#parts.ambient(), ...Object.fromEntries(own) }
  }

  async #enqueue(
    flows: readonly FlowDefinition[],
    options: EnqueueFlowsOptions<Tx>,
    { isMany, isOpen = false }: { isMany: boolean; isOpen?: boolean },
  ): Promise<EnqueuedFlow[]> {
    const { tx, unique, correlationId, traceparent, tracestate, ...rest } = options
    rejectUnknown('flows.enqueue()', rest, ['unique', 'correlationId', 'traceparent', 'tracestate', 'tx'])
    const db = tx === undefined ? undefined : this.#parts.foreign(tx)
    const common = this.#common({ correlationId, traceparent, tracestate })
    const plans: FlowPlan[] = []
    for (const [index, flow] of flows.entries()) {
      checkFlow(flow)
      const path = isMany ? `flows[${index}].` : ''
      const uniqueKey = uniqueOption(unique?.(index))
      plans.push(await prepareFlow(flow, { common, blobs: this.#parts.blobs, uniqueKey, path, isOpen }))
    }
    const placed = await this.#store(plans, db)
    return placed.map(({ id, placement }, index) => ({ id, name: plans[index]?.name ?? '', placement }))
  }

  async #store(plans: readonly FlowPlan[], tx: Queryable | undefined): Promise<PlacedFlow[]> {
    if (plans.length === 0) return []
    const jobs = plans.flatMap(({ nodes }) => nodes.flatMap((node) => node.jobs))
    if (jobs.length > mostJobs)
      throw new StintError(
        'invalid-input',
        `Expected at most ${mostJobs.toLocaleString('en')} jobs in one call, got ${jobs.length.toLocaleString('en')}. Nothing was stored.`,
        { issues: [{ path: 'flows', message: 'have too many jobs together' }] },
      )
    const isInTx = tx !== undefined
    const send = (): Promise<PlacedFlow[]> =>
      tx === undefined ? this.#calls.write((db) => enqueueFlows(db, plans)) : enqueueFlows(tx, plans)
    try {
      const placed = await this.#parts.admitted(jobs, { isInTx, isStored: hasStored }, send)
      this.#parts.stored(startingHints(plans), isInTx)
      return placed
    } catch (error) {
      throw isTooOld(error) ? workersTooOld(error) : error
    }
  }
}

function hasStored(placed: readonly PlacedFlow[]): boolean {
  return placed.some(({ placement }) => placement === 'stored')
}

/** Checks the properties and not the class: the flow may come from another copy of the package. */
function checkFlow(flow: unknown): asserts flow is FlowDefinition {
  const { name, nodes } = (flow ?? {}) as Partial<FlowDefinition>
  if (typeof name === 'string' && Array.isArray(nodes)) return
  throw invalidOption('flow', "what flow('checkout').job(…) returns", flow)
}

function uniqueOption(key: unknown): string | undefined {
  if (key === undefined || boundedText(key, 512)) return key
  throw invalidOption('unique', 'a string of 1 to 512 bytes that Postgres can store', key)
}

/** The SQLSTATE of stint.enqueue_flows(), in the error of a driver or in ours about it. */
function isTooOld(error: unknown): boolean {
  const cause = isStintError(error) ? error.cause : error
  return peek(cause, 'code') === 'ST007'
}

function workersTooOld(cause: unknown): StintError {
  return new StintError(
    'workers-too-old',
    'A worker that lives does not know flows: it would end a job of a flow, and nothing that waits for it would start. Nothing was stored. Upgrade all workers first.',
    { cause, retryAfterMs: 30_000 },
  )
}

function missing({ name }: { name: string }): never {
  throw new Error(`The database gave no answer for flow '${name}'`)
}
