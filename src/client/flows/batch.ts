import type { FlowDefinition } from '../../contracts/flow.ts'
import type { NodeType } from '../../contracts/flow-references.ts'
import { isReferring } from '../../contracts/flow-references.ts'
import { StintError } from '../../core/errors.ts'
import { invalidOption } from '../../core/options.ts'
import { hintsOfJobs } from '../../flows/graph/enqueue.ts'
import { addToFlow, closeFlow } from '../../flows/graph/grow.ts'
import { prepareMembers, takesMore } from '../../flows/graph/prepare.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import type { Calls } from '../calls.ts'
import type { EnqueuedFlow, FlowsParts } from './flow-parts.ts'
import { hintsOf, missingFlow } from './flow-verbs.ts'

interface BatchParts extends Pick<FlowsParts<never>, 'blobs' | 'admitted' | 'stored'> {
  calls: Calls
  common: JobOptions
}

type GroupIn<Nodes> = {
  [Name in keyof Nodes]: Nodes[Name] extends { isGroup: true } ? Name : never
}[keyof Nodes] &
  string
type InputIn<Nodes, Name extends keyof Nodes> = Nodes[Name] extends NodeType ? Nodes[Name]['input'] : never

/** Jobs of one statement. */
const mostAtOnce = 5_000

/** An open flow: its first groups take more jobs until it is closed. */
export class Batch<Nodes> implements EnqueuedFlow {
  readonly id: string
  readonly name: string
  /** `kept`: it is the batch of a flow that was open already, and the inputs given to `open()` were not stored. */
  readonly placement: EnqueuedFlow['placement']
  readonly #flow: FlowDefinition
  readonly #parts: BatchParts

  /** @internal Use `stint.flows.open()`. */
  constructor({ id, name, placement }: EnqueuedFlow, flow: FlowDefinition, parts: BatchParts) {
    this.id = id
    this.name = name
    this.placement = placement
    this.#flow = flow
    this.#parts = parts
  }

  /**
   * Adds jobs to a group; they may start at once. All inputs are checked before the first job is sent; then each 5,000 jobs are
   * stored together. Throws `flow-ended` once the batch is closed or its flow cancelled.
   */
  async add<Name extends GroupIn<Nodes>>(
    node: Name,
    inputs: Iterable<InputIn<Nodes, Name>>,
  ): Promise<{ added: number }> {
    const found = this.#flow.nodes.find(({ name }) => name === node)
    if (found === undefined || !takesMore(found)) {
      const groups = this.#flow.nodes.filter(takesMore).map(({ name }) => `'${name}'`)
      throw invalidOption('node', `a group that takes more jobs (${groups.join(', ')})`, node)
    }
    const { common, blobs, calls, admitted, stored } = this.#parts
    const jobs = await prepareMembers(found, [...inputs], { common, blobs, path: '' })
    const keepsOutputs = this.#flow.nodes.some(({ inputs: others }) =>
      others.some((input) => isReferring(input) && input.nodes.has(node)),
    )
    for (let first = 0; first < jobs.length; first += mostAtOnce) {
      const some: readonly PreparedJob[] = jobs.slice(first, first + mostAtOnce)
      const request = { flow: this.id, node, jobs: some, keepsOutputs }
      const outcome = await admitted(some, { isInTx: false, isStored: (answer) => answer === 'added' }, () =>
        calls.write((db) => addToFlow(db, request)),
      )
      if (outcome === 'not-found') return missingFlow(this.id)
      if (outcome === 'closed')
        throw new StintError(
          'flow-ended',
          `Flow ${this.id} '${this.name}' takes no more jobs: it was closed or cancelled. ${first} of ${jobs.length} jobs were added.`,
        )
      stored(hintsOfJobs(some), false)
    }
    return { added: jobs.length }
  }

  /** No more jobs come: what waits for the groups may start once these have ended. Does nothing if it is closed already. */
  async close(): Promise<void> {
    const starting = await this.#parts.calls.write((db) => closeFlow(db, this.id))
    if (starting === undefined) return missingFlow(this.id)
    this.#parts.stored(new Set(hintsOf(starting)), false)
  }
}
