import { inputDigest, putInput } from '../../jobs/blobs/input-blob.ts'
import { checkContract } from '../../contracts/check-contract.ts'
import type { JobContract } from '../../contracts/contract.ts'
import { StintError } from '../../core/errors.ts'
import { checkInput, maxInputBytes } from '../../contracts/input.ts'
import type { Job } from '../../core/job.ts'
import { updateInput } from '../../jobs/change/update-input.ts'
import type { UpdateInputRequest } from '../../jobs/change/update-input.ts'
import { searchTokens } from '../../jobs/new/enqueue-options.ts'
import { nextId } from '../../jobs/new/ids.ts'
import { asInvalidInput } from '../../jobs/new/new-job.ts'
import type { BlobConfig } from '../../jobs/new/new-job.ts'
import type { Calls } from '../calls.ts'
import { derive, deriveOld, ownSearch } from '../enqueue/derived.ts'
import { checkId } from '../job-id.ts'

/** Gives a job that is not running another input: Stint.update(). */
export async function updateJob(
  calls: Calls,
  blobs: BlobConfig | undefined,
  { contract, id, input }: { contract: JobContract; id: string; input: unknown },
): Promise<Job> {
  checkContract(contract)
  checkId(id)
  const job = await calls.withInputIfThere(await calls.find(id))
  if (job.kind !== contract.kind) throw otherKind(job, contract.kind)
  const request = await prepareUpdate(contract, job, input, blobs)
  const isDone = await calls.send((db) => updateInput(db, request))
  return calls.changed(id, isDone, (changed) => hasInput(changed, request))
}

function otherKind({ id, kind }: Job, given: string): StintError {
  const message = `Job ${id} is of kind '${kind}', not '${given}': pass the contract of its kind.`
  return new StintError('contract-mismatch', message, { jobIds: [id] })
}

/**
 * What changes when a job gets another input: the input, and the key, search words and unique key that the contract
 * derives from it. Values from the enqueue call stay: those that differ from what the old input derives.
 */
async function prepareUpdate(
  contract: JobContract,
  job: Job,
  input: unknown,
  blobs: BlobConfig | undefined,
): Promise<UpdateInputRequest> {
  const { text, bytes, parsed } = await checkInput(contract, input, blobs?.maxBytes ?? maxInputBytes)
  const oldText = JSON.stringify(job.input)
  const next = asInvalidInput(contract.kind, () => derive(contract, parsed, text))
  const old = await deriveOld(contract, job)
  const blob =
    blobs !== undefined && bytes > blobs.thresholdBytes
      ? await putInput(blobs.store, nextId(), text)
      : undefined
  const isKeyDerived = job.key === (old?.key ?? null)
  return {
    id: job.id,
    kind: contract.kind,
    version: contract.version,
    input: blob === undefined ? text : null,
    inputBlob: blob?.key ?? null,
    oldInput: job.inputBlob === null ? oldText : null,
    oldInputBlob: job.inputBlob,
    key: isKeyDerived ? (next.key ?? null) : job.key,
    tokens: searchTokens({ ...next.search, ...ownSearch(job, old) }) ?? null,
    oldUnique: old?.unique ?? inputDigest(oldText),
    newUnique: next.unique,
  }
}

/** Whether a job has the input of an update already: the update may have been done although its reply was lost. */
function hasInput(job: Job, { input, inputBlob }: UpdateInputRequest): boolean {
  if (input === null) return job.inputBlob === inputBlob
  return job.inputBlob === null && inputDigest(JSON.stringify(job.input)) === inputDigest(input)
}
