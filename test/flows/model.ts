import type { EdgePlan } from '../../src/flows/graph/plan.ts'

/*
 * What a flow does, computed from its graph alone: no counts, no deltas and no order of events. The state of each edge and each
 * node is derived from the states of jobs, again and again, until nothing changes.
 */

export type Fate = 'succeeded' | 'dead' | 'cancelled'

export interface ModelNode {
  after: readonly EdgePlan[]
  needs: number
  skips: boolean
  /** How each of its jobs ends when it runs. */
  fates: Fate[]
}

type JobState = 'waiting' | Fate

interface NodeState {
  isReleased: boolean
  isSkipped: boolean
  jobs: JobState[]
  hadDeath: boolean
  isComplete: boolean
  /** The states of the edges that lead to it. */
  edges: ('open' | 'fired' | 'lost')[]
}

export interface NodeCounts {
  remaining: number
  succeeded: number
  dead: number
  cancelled: number
  isComplete: boolean
}

export class ModelFlow {
  readonly #nodes: readonly ModelNode[]
  readonly #states: NodeState[]

  constructor(nodes: readonly ModelNode[]) {
    this.#nodes = nodes
    this.#states = nodes.map(({ after, fates }) => ({
      isReleased: false,
      isSkipped: false,
      jobs: fates.map(() => 'waiting'),
      hadDeath: false,
      isComplete: false,
      edges: after.map(() => 'open'),
    }))
  }

  /** Runs until no job can start. */
  run(): void {
    for (let before = ''; before !== JSON.stringify(this.#states);) {
      before = JSON.stringify(this.#states)
      for (const [index, node] of this.#nodes.entries()) this.#advance(index, node)
    }
  }

  /** Every dead job is replayed, and ends as said. */
  replay(fateOf: (node: number, job: number) => Fate): number {
    return this.#change('dead', fateOf)
  }

  /** Every dead job is discarded for good, which counts as cancelled. */
  discard(): number {
    return this.#change('dead', () => 'cancelled')
  }

  get counts(): NodeCounts[] {
    return this.#states.map(({ jobs, isComplete }) => ({
      remaining: jobs.filter((state) => state === 'waiting').length,
      succeeded: jobs.filter((state) => state === 'succeeded').length,
      dead: jobs.filter((state) => state === 'dead').length,
      cancelled: jobs.filter((state) => state === 'cancelled').length,
      isComplete,
    }))
  }

  get hasEnded(): boolean {
    return this.#states.every(({ isComplete }) => isComplete)
  }

  #change(from: JobState, to: (node: number, job: number) => Fate): number {
    let changed = 0
    for (const [index, state] of this.#states.entries())
      for (const [job, one] of state.jobs.entries())
        if (one === from) {
          state.jobs[job] = to(index, job)
          changed++
        }
    this.run()
    return changed
  }

  #advance(index: number, { after, needs, skips, fates }: ModelNode): void {
    const state = this.#states[index]
    if (state === undefined) return
    for (const [place, edge] of after.entries())
      if (state.edges[place] === 'open') state.edges[place] = this.#edge(edge)
    if (!state.isReleased && !state.isSkipped) {
      const fired = state.edges.filter((edge) => edge === 'fired').length
      const lost = state.edges.filter((edge) => edge === 'lost').length
      if (fired >= needs) {
        state.isReleased = true
        state.jobs = [...fates]
      } else if (state.edges.length - lost < needs) {
        state.isSkipped = true
        state.jobs = fates.map(() => 'cancelled')
      }
    }
    const hasDead = state.jobs.includes('dead')
    if (hasDead) state.hadDeath = true
    if (!state.jobs.includes('waiting') && (!hasDead || skips)) state.isComplete = true
  }

  #edge({ node, when }: EdgePlan): 'open' | 'fired' | 'lost' {
    const from = this.#states[node]
    const skips = this.#nodes[node]?.skips === true
    if (from === undefined) return 'open'
    const isOver = !from.jobs.includes('waiting')
    const hasDead = from.jobs.includes('dead')
    const isDecided = (isOver && !hasDead) || (skips && hasDead)
    if (when === 'ended') return isOver ? 'fired' : 'open'
    if (when === 'dead') return from.hadDeath ? 'fired' : isDecided ? 'lost' : 'open'
    if (!isDecided) return 'open'
    return from.jobs.every((job) => job === 'succeeded') ? 'fired' : 'lost'
  }
}
