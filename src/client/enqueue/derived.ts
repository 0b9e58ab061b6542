import { inputDigest } from '../../jobs/blobs/input-blob.ts'
import type { JobContract, SearchTokens } from '../../contracts/contract.ts'
import { readInput } from '../../contracts/input.ts'
import type { Job } from '../../core/job.ts'
import { contractUniqueKey, keyText } from '../../jobs/new/enqueue-options.ts'

/** The values that a contract derives from an input. */
export interface Derived {
  key: string | undefined
  search: SearchTokens
  /** The part of the unique key after the kind, if the job is unique. */
  unique: string
}

export function derive(contract: JobContract, parsed: unknown, text: string): Derived {
  return {
    key: keyText('key', contract.keyOf?.(parsed), 512),
    search: { ...contract.searchOf?.(parsed) },
    unique: contractUniqueKey(contract, parsed) ?? inputDigest(text),
  }
}

/** Undefined if the contract does not accept the old input: then we cannot know what was derived from it. */
export async function deriveOld(contract: JobContract, job: Job): Promise<Derived | undefined> {
  try {
    return derive(contract, await readInput(contract, job), JSON.stringify(job.input))
  } catch {
    return undefined
  }
}

/** The search words that the enqueue call gave: those whose names the contract does not derive. */
export function ownSearch(job: Job, old: Derived | undefined): SearchTokens {
  const derivedNames = Object.keys(old?.search ?? {})
  return Object.fromEntries(Object.entries(job.search).filter(([name]) => !derivedNames.includes(name)))
}
