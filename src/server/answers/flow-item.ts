import type { FlowGraph as StoredGraph, FlowMember as StoredMember } from '../../flows/graph/members.ts'
import type { Flow, FlowSummary } from '../../flows/graph/read.ts'
import { edgesTo, heldJobs, nodeState } from '../../flows/graph/shape.ts'
import { dependencies } from '../../limits/why/waits.ts'
import type { FlowDetail, FlowGraph, FlowItem, FlowMember } from '../api/flow.ts'
import type { Caller } from '../auth/caller.ts'
import { mayAll } from '../auth/scope.ts'
import { shownText, timeOf } from './job-item.ts'

export function toFlowItem(flow: FlowSummary): FlowItem {
  const { id, type, name, state, parentId, uniqueKey } = flow
  const { total, remaining, succeeded, dead, cancelled } = flow
  return {
    ...{ id, type, name, state, parentId, uniqueKey },
    createdAt: timeOf(flow.createdAt),
    endedAt: timeOf(flow.endedAt),
    cancelReason: shownText(flow.cancelReason),
    broken: flow.broken.slice(0, 100),
    ...{ total, remaining, succeeded, dead, cancelled },
  }
}

export function toFlowDetail(flow: Flow): FlowDetail {
  const after = edgesTo(flow.nodes)
  const nodes = flow.nodes.map((node, index) => {
    const { name, needs, total, remaining, succeeded, dead, cancelled } = node
    const counts = { total, remaining, succeeded, dead, cancelled }
    return { name, needs, ...counts, state: nodeState(node), after: after[index] ?? [] }
  })
  const sum = (count: 'total' | 'remaining' | 'succeeded' | 'dead' | 'cancelled'): number =>
    nodes.reduce((all, node) => all + node[count], 0)
  const sums = {
    ...{ total: sum('total'), remaining: sum('remaining'), succeeded: sum('succeeded') },
    ...{ dead: sum('dead'), cancelled: sum('cancelled') },
  }
  const about = toFlowItem({ ...flow, ...sums })
  return { ...about, nodes, heldJobs: heldJobs(flow.nodes), asOf: new Date().toISOString() }
}

export function toFlowGraph(graph: StoredGraph, caller: Caller): FlowGraph {
  const detail = toFlowDetail(graph)
  const nodes = detail.nodes.map((node, index) => ({
    ...node,
    jobs: graph.nodes[index]?.jobs?.map((job) => toMember(job, caller, graph.id)) ?? null,
  }))
  return { ...detail, nodes }
}

function toMember(job: StoredMember, caller: Caller, flowId: string): FlowMember {
  const { id, state, queue, kind, key, attempt, waits, runAt } = job
  const sees = mayAll(caller) ? undefined : (): boolean => false
  const { says } = dependencies({ state, waits, flowId, runAt, asOf: new Date() }, sees)
  return {
    ...{ id, state, queue, kind, key, attempt },
    createdAt: timeOf(job.createdAt),
    startedAt: timeOf(job.startedAt),
    finishedAt: timeOf(job.finishedAt),
    waitsFor: says === '' ? null : shownText(says),
  }
}
