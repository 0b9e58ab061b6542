import { FarTime } from '../../core/far-time.ts'
import { lastUuid } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { getSql } from './get.sql.ts'
import { listSql } from './list.sql.ts'
import { windowEndSql } from './window-end.sql.ts'

/**
 * `held`: no job of it can start, because what waits for a dead job waits for its replay. `cancelled`: from the moment that
 * it is asked for; its running jobs may still have to stop.
 */
export type FlowState = (typeof flowStates)[number]
export const flowStates = ['open', 'held', 'ended', 'cancelled'] as const

export const flowTypes = ['flow', 'children'] as const
/** `children`: the jobs that the handler of the job `parentId` made. */
export type FlowType = (typeof flowTypes)[number]

interface FlowRow {
  id: string
  type: FlowType
  name: string
  parentId: string | null
  uniqueKey: string | null
  createdAt: Date
  /** When its last node was complete; null until then. */
  endedAt: Date | null
  cancelReason: string | null
  /** What is wrong with its rows; another role wrote them. */
  broken: string[]
  /** The flow of which it runs a part again. */
  rerunOf: string | null
}

/** How many jobs of a node, or of a whole flow, have ended, and how. */
export interface JobCounts {
  total: number
  remaining: number
  succeeded: number
  dead: number
  cancelled: number
}

export interface FlowNode extends JobCounts {
  /** Its number in the database. */
  node: number
  name: string
  /** It takes more jobs until it is closed. */
  isOpen: boolean
  /** Edges that must still fire before its jobs may start. */
  needs: number
  /** It keeps its flow open no longer. */
  isComplete: boolean
  /** The indexes of the nodes that wait for it. */
  onSucceeded: number[]
  onEnded: number[]
  onDead: number[]
}

export interface Flow extends FlowRow {
  state: FlowState
  nodes: FlowNode[]
}

export interface FlowSummary extends FlowRow, JobCounts {
  state: FlowState
}

/** A flow, or undefined if there is none with this id. */
export async function getFlow(db: Queryable, id: string): Promise<Flow | undefined> {
  const [flow] = await run(db, getSql, { id }, toFlow)
  return flow
}

export interface ListFlowsRequest {
  name?: string | undefined
  type?: FlowType | undefined
  /** Only flows that have not ended. */
  isOpen?: boolean | undefined
  /** The id of the last flow of the page before. */
  before?: string | undefined
  limit: number
}

export interface FlowPage {
  /** The newest first. */
  flows: FlowSummary[]
  /**
   * Where the next page begins; undefined when there is no more. A page with few or no flows and a `next` looked through
   * 50,000 flows and found no more that match.
   */
  next: string | undefined
}

/** A page of flows. */
export async function listFlows(
  db: Queryable,
  { name, type, isOpen = false, before = lastUuid, limit }: ListFlowsRequest,
): Promise<FlowPage> {
  const request = { isOpen, before }
  const found = await run(
    db,
    listSql,
    { ...request, name: name ?? null, type: type ?? null, limit: limit + 1 },
    toSummary,
  )
  if (found.length > limit) return { flows: found.slice(0, limit), next: found[limit - 1]?.id }
  const [next] = await run(db, windowEndSql, request, ({ id }: { id: string }) => id)
  return { flows: found, next }
}

type StoredFlow = Omit<FlowRow, 'broken'> & { cancelAt: Date | null }
function toFlow({ cancelAt, nodes, ...row }: StoredFlow & { nodes: FlowNode[] | null }): Flow {
  const stored = nodes ?? []
  const indexes = new Map(stored.map(({ node }, index) => [node, index]))
  const all = stored.map(({ onSucceeded, onEnded, onDead, ...one }) => ({
    ...one,
    onSucceeded: known(onSucceeded, indexes),
    onEnded: known(onEnded, indexes),
    onDead: known(onDead, indexes),
  }))
  const isHeld =
    all.some(({ dead, isComplete }) => dead > 0 && !isComplete) &&
    !all.some(({ remaining, needs, isOpen }) => (isOpen || remaining > 0) && needs <= 0)
  const broken = [
    ...brokenTimes(row),
    ...(all.length === 0 ? ['it has no nodes'] : []),
    ...all.filter(isMiscounted).map(({ name }) => `the counts of node '${name}' do not add up`),
  ]
  return { ...row, state: stateOf({ ...row, cancelAt }, isHeld), nodes: all, broken }
}

/** Edges to nodes that do not exist lead nowhere. An array of Postgres may have any depth, and null in it. */
function known(edges: readonly unknown[], indexes: ReadonlyMap<unknown, number>): number[] {
  const targets = edges.flat(6).flatMap((node) => indexes.get(node) ?? [])
  return [...new Set(targets)]
}

function isMiscounted({ total, remaining, succeeded, dead, cancelled }: JobCounts): boolean {
  const isNegative = Math.min(remaining, succeeded, dead, cancelled) < 0
  return isNegative || remaining + succeeded + dead + cancelled !== total
}

function brokenTimes({ createdAt, endedAt }: Pick<StoredFlow, 'createdAt' | 'endedAt'>): string[] {
  return Object.entries({ createdAt, endedAt }).flatMap(([name, time]) =>
    time instanceof FarTime ? [`${name} is ${time.stored}`] : [],
  )
}

type StoredSummary = StoredFlow & JobCounts & { isHeld: boolean; isBroken: boolean }

function toSummary({ cancelAt, isHeld, isBroken, ...row }: StoredSummary): FlowSummary {
  const broken = [...brokenTimes(row), ...(isBroken ? ['the counts of its nodes do not add up'] : [])]
  return { ...row, state: stateOf({ ...row, cancelAt }, isHeld), broken }
}

function stateOf({ endedAt, cancelAt }: StoredFlow, isHeld: boolean): FlowState {
  if (cancelAt !== null) return 'cancelled'
  if (endedAt !== null) return 'ended'
  return isHeld ? 'held' : 'open'
}
