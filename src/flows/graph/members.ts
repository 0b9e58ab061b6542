import type { JobState } from '../../core/job.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { deadResourcesSql } from './dead-resources.sql.ts'
import { membersSql } from './members.sql.ts'
import { getFlow } from './read.ts'
import type { Flow, FlowNode } from './read.ts'
import { resourcesSql } from './resources.sql.ts'

/** A job of a flow. */
export interface FlowMember {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  attempt: number
  createdAt: Date
  runAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** What it waits for, as it is stored: any shape. */
  waits: unknown
}

export interface GraphNode extends FlowNode {
  /** Its jobs; null for a group of more than 50, and where the graph has more than 500 jobs already. */
  jobs: FlowMember[] | null
}

export interface FlowGraph extends Omit<Flow, 'nodes'> {
  nodes: GraphNode[]
}

/** A node with more jobs is shown as one. */
const mostOfNode = 50
/** Jobs that a graph shows one by one. */
const mostShown = 500

/** A flow with the jobs of its small nodes; undefined if there is none with this id. */
export async function readGraph(db: Queryable, id: string): Promise<FlowGraph | undefined> {
  const flow = await getFlow(db, id)
  if (flow === undefined) return undefined
  const shown = new Map<number, FlowMember[]>()
  let jobs = 0
  for (const { node, total } of flow.nodes) {
    if (total > mostOfNode || jobs + total > mostShown) continue
    jobs += total
    shown.set(node, [])
  }
  if (shown.size > 0) {
    const request = { id, nodes: [...shown.keys()], limit: 2 * mostShown }
    const rows = await run(db, membersSql, request, (row: FlowMember & { node: number }) => row)
    const seen = new Set<string>()
    for (const { node, ...job } of rows) {
      if (!seen.has(job.id)) shown.get(node)?.push(job)
      seen.add(job.id)
    }
  }
  return { ...flow, nodes: flow.nodes.map((node) => ({ ...node, jobs: shown.get(node.node) ?? null })) }
}

/** The resources of the dead jobs that a replay of the flow concerns, at most 1,001. */
export async function readDeadResources(db: Queryable, id: string): Promise<MemberResource[]> {
  return run(db, deadResourcesSql, { id }, (row: MemberResource) => row)
}

/** What decides who may see a job. */
export interface MemberResource {
  queue: string
  kind: string
  key: string | null
}

/**
 * The resources of the jobs of each flow; none for a flow whose jobs are all gone. Undefined for one that is too large to look
 * through.
 */
export async function readResources(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, MemberResource[] | undefined>> {
  const found = new Map<string, MemberResource[] | undefined>(ids.map((id) => [id, []]))
  const rows = await run(
    db,
    resourcesSql,
    { ids },
    (row: MemberResource & { flowId: string; isCut: boolean }) => row,
  )
  for (const { flowId, isCut, ...resource } of rows) {
    if (isCut) found.set(flowId, undefined)
    else found.get(flowId)?.push(resource)
  }
  return found
}
