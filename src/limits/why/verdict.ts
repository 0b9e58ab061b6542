import type { Facts, HolderFacts } from './facts.ts'
import type { WhyHolder } from './words.ts'

/*
 * What must hold before a job is claimed, in the order in which people should look, with the sentence that is said where it does
 * not hold. Library, CLI, HTTP and dashboard show these sentences and make none of their own.
 */
export const predicateNames = [
  ...(['live', 'dependencies', 'due', 'open', 'worker', 'handler', 'slot'] as const),
  ...(['breaker', 'rate', 'limit', 'order', 'turn', 'visible'] as const),
] as const
export type PredicateName = (typeof predicateNames)[number]

/** One of the conditions of a claim. */
export interface WhyPredicate {
  name: PredicateName
  /** Null if it was not judged, because another one decides. */
  holds: boolean | null
  /** In words; empty if there is nothing to say. */
  says: string
  /** The jobs that stand in the way, the longest first. */
  holders?: WhyHolder[] | undefined
  /** When it should hold again. */
  clearsInMs?: number | undefined
}

/** Which other jobs may be named or counted; a queue stands for all its jobs. */
export type Sees = (resource: { queue: string; kind?: string; key?: string | null }) => boolean

export interface Judging {
  facts: Facts
  /** Of the first limit that is reached. */
  holders: readonly HolderFacts[]
  /** Undefined: all. */
  sees: Sees | undefined
}

export type Verdict = Omit<WhyPredicate, 'name'>
export const holds: Verdict = { holds: true, says: '' }
export const open: Verdict = { holds: null, says: '' }

/** Whether the caller may know how many jobs its queue has. */
export function mayCount({ queue }: Facts, sees: Sees | undefined): boolean {
  return sees === undefined || sees({ queue })
}
