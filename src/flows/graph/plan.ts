import { StintError } from '../../core/errors.ts'
import type { Issue } from '../../core/errors.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'

/** A flow before it is stored. Its jobs are prepared: their inputs and options were checked. */
export interface FlowPlan {
  /** A UUIDv7. A plan that is sent again with the same id is stored once. */
  id: string
  name: string
  /** One open flow of this name may have it. */
  uniqueKey?: string | undefined
  /** The job that makes the flow: when that is cancelled, so is the flow. */
  parentId?: string | undefined
  nodes: readonly NodePlan[]
}

/** One job, or a group of jobs that start together. */
export interface NodePlan {
  name: string
  /** What it waits for; empty if its jobs may start at once. */
  after: readonly EdgePlan[]
  /** How many of `after` have to happen before its jobs start. @default all of them */
  needs?: number | undefined
  /** After a death: `hold` keeps what waits for its success waiting for a replay, `skip` cancels it. */
  onDead: 'hold' | 'skip'
  /** It takes more jobs until it is closed. @default false */
  isOpen?: boolean | undefined
  /** Whether other jobs read how its jobs ended, and with what result. */
  keepsOutputs: boolean
  /** A delay or a deadline of a job counts from when it may start. No job may be unique or have an idempotency key. */
  jobs: readonly PreparedJob[]
}

export interface EdgePlan {
  /** The index of the node that it waits for. */
  node: number
  /** `succeeded`: all its jobs have; `ended`: in whatever way; `dead`: one of them died. */
  when: 'succeeded' | 'ended' | 'dead'
}

export const mostNodes = 1_000
export const mostEdges = 10_000
export const mostJobs = 100_000

/** Throws an error that names every problem of the plans. */
export function checkPlans(plans: readonly FlowPlan[]): void {
  const issues = plans.flatMap((plan, index) =>
    problemsOf(plan).map(({ path, message }): Issue => ({ path: `flows[${index}].${path}`, message })),
  )
  const [first] = issues
  if (first === undefined) return
  throw new StintError('invalid-input', `${first.path}: ${first.message} Nothing was stored.`, { issues })
}

function problemsOf({ nodes }: FlowPlan): Issue[] {
  if (nodes.length === 0 || nodes.length > mostNodes)
    return [{ path: 'nodes', message: `Expected 1 to ${mostNodes} nodes, got ${nodes.length}.` }]
  const edges = nodes.reduce((sum, { after }) => sum + after.length, 0)
  if (edges > mostEdges)
    return [{ path: 'nodes', message: `Expected at most ${mostEdges} edges, got ${edges}.` }]
  const issues: Issue[] = []
  const names = new Set<string>()
  for (const [index, node] of nodes.entries()) {
    const add = (field: string, message: string): void => {
      issues.push({ path: `nodes[${index}].${field}`, message })
    }
    if (names.has(node.name)) add('name', `Two nodes have the name '${node.name}'.`)
    names.add(node.name)
    const fewest = node.isOpen === true ? 0 : 1
    if (node.jobs.length < fewest || node.jobs.length > mostJobs)
      add('jobs', `Expected ${fewest} to ${mostJobs} jobs in node '${node.name}', got ${node.jobs.length}.`)
    const { needs = node.after.length } = node
    if (!Number.isInteger(needs) || needs < Math.min(1, node.after.length) || needs > node.after.length)
      add('needs', `Node '${node.name}' waits for ${node.after.length} nodes and needs ${needs} of them.`)
    for (const [place, edge] of node.after.entries())
      if (nodes[edge.node] === undefined) add(`after[${place}]`, `There is no node ${edge.node}.`)
    const decided = node.jobs.findIndex(({ job, blob }) => blob === undefined && job.deciding !== '')
    if (decided !== -1)
      add(
        `jobs[${decided}]`,
        'A job of a flow cannot be unique or have an idempotency key; make the flow unique.',
      )
  }
  return issues.length > 0 ? issues : cycleOf(nodes)
}

/** Takes nodes away that wait for nothing, until none is left or the rest waits for itself. */
function cycleOf(nodes: readonly NodePlan[]): Issue[] {
  const left = nodes.map(({ after }) => after.length)
  const next = nodes.map((): number[] => [])
  for (const [index, { after }] of nodes.entries()) for (const { node } of after) next[node]?.push(index)
  const free = [...left.keys()].filter((index) => left[index] === 0)
  let seen = 0
  for (let index = free.pop(); index !== undefined; index = free.pop()) {
    seen++
    for (const one of next[index] ?? []) {
      left[one] = (left[one] ?? 0) - 1
      if (left[one] === 0) free.push(one)
    }
  }
  if (seen === nodes.length) return []
  const names = nodes.filter((_, index) => (left[index] ?? 0) > 0).map(({ name }) => `'${name}'`)
  return [{ path: 'nodes', message: `These nodes wait for each other: ${names.join(', ')}.` }]
}
