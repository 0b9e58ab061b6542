import type { FlowNode } from './read.ts'
import type { EdgePlan } from './plan.ts'

export type NodeState = 'waiting' | 'open' | 'succeeded' | 'dead' | 'cancelled'

/** What a node's counts say, in one word. */
export function nodeState({ remaining, succeeded, dead, cancelled, needs }: FlowNode): NodeState {
  if (dead > 0) return 'dead'
  if (remaining > 0) return needs > 0 ? 'waiting' : 'open'
  return succeeded === 0 && cancelled > 0 ? 'cancelled' : 'succeeded'
}

/** For each node, what it waits for: the edges of its row lead the other way. */
export function edgesTo(nodes: readonly FlowNode[]): EdgePlan[][] {
  const after = nodes.map((): EdgePlan[] => [])
  for (const [node, { onSucceeded, onEnded, onDead }] of nodes.entries()) {
    for (const target of onSucceeded) after[target]?.push({ node, when: 'succeeded' })
    for (const target of onEnded) after[target]?.push({ node, when: 'ended' })
    for (const target of onDead) after[target]?.push({ node, when: 'dead' })
  }
  return after
}

/** How many jobs wait, directly or not, for the success of a job that is dead. */
export function heldJobs(nodes: readonly FlowNode[]): number {
  const held = new Set<number>()
  const next = nodes.flatMap(({ dead, isComplete, onSucceeded }) =>
    dead > 0 && !isComplete ? onSucceeded : [],
  )
  for (let index = next.pop(); index !== undefined; index = next.pop()) {
    const node = nodes[index]
    if (node === undefined || held.has(index) || node.needs <= 0) continue
    held.add(index)
    next.push(...node.onSucceeded, ...node.onEnded)
  }
  return [...held].reduce((sum, index) => sum + (nodes[index]?.remaining ?? 0), 0)
}
