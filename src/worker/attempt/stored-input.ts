import type { JobContract } from '../../contracts/contract.ts'
import { readInput } from '../../contracts/input.ts'
import { nodesIn, putIn } from '../../flows/outputs/put-in.ts'
import { readBlob } from '../../jobs/blobs/input-blob.ts'
import type { ContextServices } from './context.ts'
import type { HeldJob } from './held-job.ts'

type Services = Pick<ContextServices, 'blobs' | 'records'>

/** The input of a job, as its handler gets it. A promise only where there is something to wait for. */
export function inputOf(held: HeldJob, contract: JobContract, services: Services): unknown {
  const { version, more, input } = held.job
  const isPlain = typeof more?.inputBlob !== 'string' && more?.hasReferences !== true
  return isPlain ? readInput(contract, { version, input }) : completed(held, contract, services)
}

/** Outputs of other jobs of its flow are put in first, so that they pass its schema too. */
async function completed(
  { job }: HeldJob,
  contract: JobContract,
  { blobs, records }: Services,
): Promise<unknown> {
  const { version, more, id } = job
  const blob = more?.inputBlob
  const stored = typeof blob === 'string' ? await readBlob(blobs?.store, { jobId: id, key: blob }) : job.input
  if (more?.hasReferences !== true || more.flowId === null)
    return readInput(contract, { version, input: stored })
  const outputs = await records.outputs(more.flowId, nodesIn(stored))
  return readInput(contract, { version, input: putIn(stored, outputs) })
}
