import { StintError } from '../../core/errors.ts'
import {
  booleanOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'
import { boundedText } from '../../core/names.ts'
import { isUuid } from '../../core/uuid.ts'
import { cancelFlow, replayFlow } from '../../flows/graph/act.ts'
import type { ReplayedMember } from '../../flows/graph/act.ts'
import { rerunFlow } from '../../flows/graph/grow.ts'
import { readDeadResources, readGraph, readResources } from '../../flows/graph/members.ts'
import type { FlowGraph, MemberResource } from '../../flows/graph/members.ts'
import { flowStates, flowTypes, getFlow, listFlows } from '../../flows/graph/read.ts'
import type { Flow, FlowPage, FlowState, FlowType } from '../../flows/graph/read.ts'
import { nextId } from '../../jobs/new/ids.ts'
import type { JobHint } from '../../jobs/new/new-job.ts'
import type { Calls } from '../calls.ts'
import { textOption } from '../jobs/list-options.ts'
import { reasonOption } from '../operator/actor.ts'

export interface ListFlowsOptions {
  /** Only flows of this name. */
  name?: string | undefined
  /** Only flows that have not ended. @default false */
  open?: boolean | undefined
  /** `children`: sets of jobs that handlers made. @default 'flow' */
  type?: FlowType | undefined
  /** Flows a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

export interface CancelFlowOptions {
  /** Why: shown with the flow; up to 1,000 characters. */
  reason?: string | null | undefined
  /** The state that the caller saw. If the flow is in another one: `state-changed`. */
  expect?: { state: FlowState } | undefined
}

export interface RerunFlowOptions {
  /** The name of the node to begin at. */
  from: string
}

export interface ReplayedFlow {
  flow: Flow
  /** The ids of the jobs that are ready again, at most 10,000: with more, call it again. */
  replayed: string[]
}

export interface FlowVerbsConfig {
  /** Called with hints about jobs that may start. */
  onReady: (hints: Iterable<JobHint>) => void
}

/** Jobs that start after other jobs have ended: `stint.flows`. */
export class FlowVerbs {
  readonly #calls: Calls
  readonly #config: FlowVerbsConfig

  constructor(calls: Calls, config: FlowVerbsConfig) {
    this.#calls = calls
    this.#config = config
  }

  /** A page of flows, the newest first. */
  async list(options: ListFlowsOptions = {}): Promise<FlowPage> {
    const { name, open = false, type = 'flow', limit = 50, cursor, ...rest } = options
    rejectUnknown('flows.list()', rest, ['name', 'open', 'type', 'limit', 'cursor'])
    if (cursor !== undefined && !isUuid(cursor))
      throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
    const request = {
      name: textOption('name', name) ?? undefined,
      isOpen: booleanOption('open', open),
      type: oneOfOption('type', type, flowTypes),
      before: cursor,
      limit: integerOption('limit', limit, { min: 1, max: 200 }),
    }
    return this.#calls.send((db) => listFlows(db, request))
  }

  /** A flow with its nodes, or undefined if there is none with this id. */
  async get(id: string): Promise<Flow | undefined> {
    checkFlowId(id)
    return this.#calls.send((db) => getFlow(db, id))
  }

  /** The same with the jobs of each node; nodes of more than 50 jobs have only their counts. */
  async graph(id: string): Promise<FlowGraph | undefined> {
    checkFlowId(id)
    return this.#calls.send((db) => db.transaction((tx) => readGraph(tx, id)))
  }

  /** @internal The queues, kinds and keys of the jobs of flows; undefined for a flow that is too large to look through. */
  async resources(ids: readonly string[]): Promise<Map<string, MemberResource[] | undefined>> {
    return ids.length === 0 ? new Map() : this.#calls.send((db) => readResources(db, ids))
  }

  /** @internal The same of the dead jobs that a replay concerns. */
  async deadResources(id: string): Promise<MemberResource[]> {
    return this.#calls.send((db) => readDeadResources(db, id))
  }

  /**
   * Cancels a flow: jobs that have not started end within seconds, running ones are asked to stop. Does nothing if it is
   * cancelled already. Throws `flow-ended` if it had ended before.
   */
  async cancel(id: string, options: CancelFlowOptions = {}): Promise<Flow> {
    const { reason, expect, ...rest } = options
    rejectUnknown('flows.cancel()', rest, ['reason', 'expect'])
    checkFlowId(id)
    const expected = resolveExpect(expect)
    const request = { id, reason: reasonOption(reason) }
    if (expected !== undefined) {
      const found = await this.#find(id)
      if (found.state !== expected)
        throw new StintError('state-changed', `Flow ${id} is now ${found.state}; expected ${expected}.`, {
          current: found,
        })
    }
    const isDone = await this.#calls.write((db) => cancelFlow(db, request), { isDone: Boolean })
    const flow = await this.#find(id)
    if (isDone || flow.state === 'cancelled') return flow
    throw new StintError('flow-ended', `Flow ${id} '${flow.name}' has ended: nothing is left to cancel.`, {
      current: flow,
    })
  }

  /**
   * Makes the dead jobs of a flow ready again, and those of the flows that they made, as `stint.dead.replay()` does for one:
   * what waited for them goes on once they succeed.
   */
  async replay(id: string): Promise<ReplayedFlow> {
    checkFlowId(id)
    await this.#find(id)
    const replayed = await this.#calls.write((db) => replayFlow(db, id), {
      isDone: ({ length }) => length > 0,
    })
    this.#config.onReady(hintsOf(replayed))
    return { flow: await this.#find(id), replayed: replayed.map((job) => job.id) }
  }

  /**
   * Stores a new flow that runs the node `from` of this one again, and all nodes behind it, with the same inputs. The outputs of
   * the other nodes are copied. The older flow stays as it is.
   */
  async rerun(id: string, options: RerunFlowOptions): Promise<{ id: string }> {
    checkFlowId(id)
    const { from, ...rest } = options
    rejectUnknown('flows.rerun()', rest, ['from'])
    if (!boundedText(from, 128)) throw invalidOption('from', 'the name of a node of the flow', from)
    // Made here, so that a call whose reply was lost can be repeated.
    const newer = nextId()
    const { outcome, starting } = await this.#calls.write((db) => rerunFlow(db, { older: id, from, newer }), {
      isTransaction: true,
      isDone: (result) => result.outcome === 'stored',
    })
    switch (outcome) {
      case 'stored':
        this.#config.onReady(hintsOf(starting))
        return { id: newer }
      case 'not-found':
        return missingFlow(id)
      case 'no-node':
        throw invalidOption('from', `the name of a node of flow ${id}`, from)
      case 'not-ready':
        throw new StintError(
          'state-changed',
          `Flow ${id} cannot be run again from '${from}': what this node waits for has not happened. Begin at an earlier node.`,
        )
      case 'no-jobs':
        throw new StintError(
          'state-changed',
          `Flow ${id} cannot be run again from '${from}': history does not have all jobs of these nodes any more.`,
        )
    }
  }

  async #find(id: string): Promise<Flow> {
    return (await this.get(id)) ?? missingFlow(id)
  }
}

export function missingFlow(id: string): never {
  throw new StintError(
    'flow-not-found',
    `There is no flow ${id}. It may have been deleted after its retention.`,
  )
}

export function checkFlowId(id: unknown): asserts id is string {
  if (!isUuid(id)) throw invalidOption('id', 'a flow id (a UUID)', id)
}

function resolveExpect(expect: unknown): FlowState | undefined {
  if (expect === undefined) return undefined
  if (typeof expect !== 'object' || expect === null)
    throw invalidOption('expect', "an object such as { state: 'held' }", expect)
  const { state, ...rest } = expect as { state?: unknown }
  rejectUnknown('expect', rest, ['state'], 'expect.')
  return oneOfOption('expect.state', state, flowStates)
}

/** Jobs of one queue, priority and key are found in the same way: one hint is enough for them. */
export function hintsOf(jobs: readonly Omit<ReplayedMember, 'id'>[]): Iterable<JobHint> {
  const hints = new Map<string, JobHint>()
  for (const { queue, priority, key } of jobs)
    hints.set(JSON.stringify([queue, priority, key]), {
      queue,
      priority,
      keyed: key !== null,
      key: key ?? undefined,
      inMs: 0,
    })
  return hints.values()
}
