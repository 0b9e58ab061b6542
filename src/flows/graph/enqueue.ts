import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { JobHint, PreparedJob } from '../../jobs/new/new-job.ts'
import { enqueueSql } from './enqueue.sql.ts'
import { checkPlans } from './plan.ts'
import type { EdgePlan, FlowPlan, NodePlan } from './plan.ts'

/** How a flow was stored: under its own id, or not, because an open flow has its unique key. */
export interface PlacedFlow {
  id: string
  placement: 'stored' | 'kept'
}

/** Stores flows in one statement. May be repeated after a lost reply. */
export async function enqueueFlows(db: Queryable, plans: readonly FlowPlan[]): Promise<PlacedFlow[]> {
  checkPlans(plans)
  const flows = `[${plans.map(flowText).join(',')}]`
  const toPlaced = (row: { id: string; outcome: PlacedFlow['placement'] }): PlacedFlow => ({
    id: row.id,
    placement: row.outcome,
  })
  return run(db, enqueueSql, { flows }, toPlaced)
}

/** Where workers find the jobs that may start at once. */
export function startingHints(plans: readonly FlowPlan[]): Set<JobHint> {
  const starting = plans.flatMap(({ nodes }) => nodes.filter(({ after }) => after.length === 0))
  return hintsOfJobs(starting.flatMap(({ jobs }) => jobs))
}

/** Where workers find these jobs, each place once. */
export function hintsOfJobs(jobs: readonly PreparedJob[]): Set<JobHint> {
  return new Set(new Map(jobs.map(({ hint }) => [JSON.stringify(hint), hint])).values())
}

/** The inputs of jobs are JSON text already: they are joined, never parsed again. */
function flowText({ id, name, uniqueKey, parentId, nodes }: FlowPlan): string {
  const members = JSON.stringify({ id, name, uniqueKey, parentId }).slice(1, -1)
  const edges = edgesOf(nodes)
  return `{${members},"nodes":[${nodes.map((node, index) => nodeText(node, edges[index])).join(',')}]}`
}

type Edges = Record<EdgePlan['when'], number[]>

/** For each node the nodes that wait for it, by what they wait for. */
function edgesOf(nodes: readonly NodePlan[]): Edges[] {
  const edges = nodes.map((): Edges => ({ succeeded: [], ended: [], dead: [] }))
  for (const [target, { after }] of nodes.entries())
    for (const { node, when } of after) edges[node]?.[when].push(target)
  return edges
}

function nodeText(node: NodePlan, edges: Edges | undefined): string {
  const members = JSON.stringify({
    name: node.name,
    needs: node.needs ?? node.after.length,
    chances: node.after.length,
    skips: node.onDead === 'skip',
    isOpen: node.isOpen,
    onSucceeded: edges?.succeeded,
    onEnded: edges?.ended,
    onDead: edges?.dead,
  }).slice(1, -1)
  return `{${members},"groups":[${groupTexts(node).join(',')}]}`
}

interface Group {
  ids: string[]
  places: (number | null)[]
  inputs: string[]
}

/**
 * Jobs that share everything but id and input form a group; one whose input is in a blob store is alone. `first` is the place
 * of the first of them in its node.
 */
export function groupTexts(
  { jobs, keepsOutputs }: Pick<NodePlan, 'jobs' | 'keepsOutputs'>,
  first = 0,
): string[] {
  const groups = new Map<string, Group>()
  for (const [index, prepared] of jobs.entries()) {
    const place = first + index
    const members = membersOf(prepared)
    let group = groups.get(members)
    if (group === undefined) groups.set(members, (group = { ids: [], places: [], inputs: [] }))
    group.ids.push(prepared.job.id)
    group.places.push(keepsOutputs ? place : null)
    group.inputs.push(prepared.job.input)
  }
  return [...groups].map(
    ([members, { ids, places, inputs }]) =>
      `{${members},"ids":${JSON.stringify(ids)},"places":${JSON.stringify(places)},"inputs":[${inputs.join(',')}]}`,
  )
}

function membersOf({ job, blob }: PreparedJob): string {
  return blob === undefined ? job.members : `${job.members},"inputBlob":${JSON.stringify(blob.key)}`
}
