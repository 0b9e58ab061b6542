import type { JobContract } from '../../contracts/contract.ts'
import type { FlowDefinition, FlowNode } from '../../contracts/flow.ts'
import { isReferring } from '../../contracts/flow-references.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import type { Issue } from '../../core/errors.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { nextId } from '../../jobs/new/ids.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { BlobConfig, PreparedJob } from '../../jobs/new/new-job.ts'
import type { FlowPlan, NodePlan } from './plan.ts'

export interface PrepareOptions {
  /** Options of all its jobs: correlation id and trace context. */
  common: JobOptions
  blobs: BlobConfig | undefined
  /** Whether its first groups take more jobs until they are closed. */
  isOpen?: boolean
}

/** Checks the jobs of a flow. Throws `invalid-input` with the path of the first bad value; nothing has been sent then. */
export async function prepareFlow(
  definition: FlowDefinition,
  {
    uniqueKey,
    path = '',
    isOpen = false,
    ...options
  }: PrepareOptions & { uniqueKey: string | undefined; path?: string },
): Promise<FlowPlan> {
  const id = nextId()
  const { name, onDead, nodes } = definition
  const indexes = new Map(nodes.map((node, index) => [node.name, index]))
  const read = new Set(nodes.flatMap(({ inputs }) => inputs.flatMap(nodesOf)))
  const common = { correlationId: id, ...options.common }
  const plans: NodePlan[] = []
  for (const node of nodes)
    plans.push({
      name: node.name,
      after: node.after.map((edge) => ({ node: indexes.get(edge.node) ?? -1, when: edge.when })),
      needs: node.needsAny ? 1 : undefined,
      onDead,
      isOpen: isOpen && takesMore(node),
      keepsOutputs: read.has(node.name),
      jobs: await prepareMembers(node, node.inputs, { ...options, common, path }),
    })
  return { id, name, uniqueKey, nodes: plans }
}

/** Whether a node of an open flow takes more jobs. */
export function takesMore({ isGroup, after }: FlowNode): boolean {
  return isGroup && after.length === 0
}

/** Checks jobs of one node. */
export async function prepareMembers(
  node: FlowNode,
  inputs: readonly unknown[],
  { common, blobs, path }: Pick<PrepareOptions, 'common' | 'blobs'> & { path: string },
): Promise<PreparedJob[]> {
  const jobs: PreparedJob[] = []
  const options = { ...common, ...node.options }
  const referring = withoutInput(node.contract)
  for (const [index, input] of inputs.entries()) {
    try {
      const preparing = isReferring(input)
        ? (refuseDerived(node, options),
          prepareJob(referring, input.value, options, blobs, { references: true }))
        : prepareJob(node.contract, input, options, blobs)
      jobs.push(preparing instanceof Promise ? await preparing : preparing)
    } catch (error) {
      throw placed(error, `${path}${node.name}${node.isGroup ? `[${index}]` : ''}`)
    }
  }
  return jobs
}

function nodesOf(input: unknown): readonly string[] {
  return isReferring(input) ? [...input.nodes] : []
}

/** An input with references has none of its values yet: the worker validates it, and nothing is derived from it. */
function withoutInput(contract: JobContract): JobContract {
  const rest: JobContract = { ...contract, inputSchema: undefined }
  delete rest.keyOf
  delete rest.uniqueBy
  delete rest.searchOf
  delete rest.costOf
  return rest
}

function refuseDerived({ contract }: FlowNode, { key, search }: JobOptions): void {
  const derived =
    contract.keyOf !== undefined && key === undefined
      ? 'key'
      : contract.searchOf !== undefined && search === undefined
        ? 'search'
        : contract.costOf !== undefined
          ? 'cost'
          : undefined
  if (derived === undefined) return
  const way = derived === 'cost' ? 'Pass the value itself' : `Give \`${derived}\` in the options of the node`
  throw new StintError(
    'invalid-input',
    `The contract of '${contract.kind}' derives \`${derived}\` from the input, and this input has references. ${way}.`,
    { issues: [{ path: `options.${derived}`, message: 'would be derived from an input with references' }] },
  )
}

/** The same error with the place of the job in front of its paths. */
function placed(error: unknown, place: string): unknown {
  if (!isStintError(error, 'invalid-input')) return error
  const { message, cause } = error
  const issues = error.issues.map((issue): Issue => ({ ...issue, path: `${place}.${issue.path}` }))
  return new StintError('invalid-input', `${place}: ${message}`, { cause, issues })
}
