import { checkContract } from '../../contracts/check-contract.ts'
import type { JobContract } from '../../contracts/contract.ts'
import type { Job } from '../../core/job.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { BlobConfig, PreparedJob } from '../../jobs/new/new-job.ts'
import type { StoredDeadLetter } from '../../jobs/dead/get-dead.ts'
import { deriveOld, ownSearch } from '../enqueue/derived.ts'
import type { Derived } from '../enqueue/derived.ts'

export interface Edit {
  contract: JobContract
  input: unknown
  delayMs: number
}

/**
 * The job that replaces a dead letter with another input. It is a new job, so that the changed input cannot be mistaken
 * for the old one; an idempotency key stays with the old job. Values that the contract derives come from the new input.
 * Values from the enqueue call are copied, and so is the origin of the job (parent, flow, fire).
 */
export async function prepareEdit(
  { contract, input, delayMs }: Edit,
  dead: StoredDeadLetter,
  blobs: BlobConfig | undefined,
): Promise<PreparedJob> {
  checkContract(contract)
  const { letter } = dead
  const old = await deriveOld(contract, letter)
  const options: JobOptions = {
    queue: letter.queue,
    priority: letter.priority,
    attempts: Math.max(1, letter.maxAttempts - letter.attemptsBefore),
    timeout: dead.options.timeoutMs,
    delay: delayMs,
    key: ownKey(contract, letter, old),
    search: ownWords(contract, letter, old),
    unique: uniqueOption(contract, dead, old),
    correlationId: letter.correlationId,
    traceparent: letter.traceparent ?? undefined,
    tracestate: letter.tracestate ?? undefined,
  }
  const lineage = {
    parentId: letter.parentId ?? undefined,
    flowId: letter.flowId ?? undefined,
    fireAt: dead.options.fireAt,
  }
  return prepareJob(contract, input, options, blobs, lineage)
}

/** The key that the enqueue call gave; undefined: the contract derives it. */
function ownKey(contract: JobContract, letter: Job, old: Derived | undefined): string | undefined {
  const isDerived = contract.keyOf !== undefined && (old === undefined || letter.key === (old.key ?? null))
  return isDerived ? undefined : (letter.key ?? undefined)
}

/** If the contract rejects the old input, we cannot tell derived words from given ones: the new input's words count. */
function ownWords(contract: JobContract, letter: Job, old: Derived | undefined): JobOptions['search'] {
  return old === undefined && contract.searchOf !== undefined ? undefined : ownSearch(letter, old)
}

/** As unique as the old job or its contract. A duplicate is an error, because the edited job must not get lost silently. */
function uniqueOption(
  contract: JobContract,
  { letter, uniqueKey, isUniqueUntilStart }: StoredDeadLetter,
  old: Derived | undefined,
): JobOptions['unique'] {
  if (uniqueKey !== null) {
    const given = uniqueKey.slice(letter.kind.length + 1)
    const isDerived = old === undefined ? contract.unique !== undefined : given === old.unique
    const until = isUniqueUntilStart ? 'started' : 'finished'
    return { key: isDerived ? undefined : given, until, onConflict: 'error' }
  }
  // Uniqueness for a time counts from the first enqueue, so the dead letter itself would be the conflict.
  if (contract.unique === undefined || contract.unique.forMs !== undefined) return false
  return { onConflict: 'error' }
}
