import { numberIn } from './json/stored-json.ts'

/** The actions over many jobs. */
export const operationActions = ['replay', 'cancel', 'discard', 'restore', 'run-now', 'reprioritize'] as const
export type OperationAction = (typeof operationActions)[number]

export const operationStates = [
  'pending',
  'canary',
  'ramping',
  'paused',
  'stopped',
  'aborted',
  'done',
] as const
export type OperationState = (typeof operationStates)[number]

/** Whether the operation acts now, or will start without a person's decision. */
export function isUnderWay(state: OperationState): boolean {
  return state === 'pending' || state === 'canary' || state === 'ramping'
}

/** The fate of a job that was replayed: `live` until it has ended. */
export const jobFates = ['live', 'succeeded', 'same-error', 'other-error', 'cancelled'] as const
export type JobFate = (typeof jobFates)[number]

/** How many of the replayed jobs have each fate. The sum is `acted`. */
export interface Fates {
  /** Jobs that have not ended, or had not when the operation ended. */
  live: number
  succeeded: number
  /** Dead again, with the same error as before. */
  sameError: number
  /** Dead again, with another error. */
  otherError: number
  cancelled: number
}

/** Reads them from a JSON column, by the names in `jobFates`. */
export function toFates(stored: unknown): Fates {
  const count = (fate: JobFate): number => numberIn(stored, fate) ?? 0
  return {
    live: count('live'),
    succeeded: count('succeeded'),
    sameError: count('same-error'),
    otherError: count('other-error'),
    cancelled: count('cancelled'),
  }
}

export function diedAgain(fates: Fates | null): number {
  return fates === null ? 0 : fates.sameError + fates.otherError
}

/** Whether to show it in red: its rule stopped it, or it is done and some of its jobs died again. */
export function hasEndedBadly({ state, fates }: { state: OperationState; fates: Fates | null }): boolean {
  return state === 'stopped' || (state === 'done' && diedAgain(fates) > 0)
}

/** For people: its state, and whether jobs died again if it is done. */
export function stateOfOperation({ state, fates }: { state: OperationState; fates: Fates | null }): string {
  return state === 'done' && diedAgain(fates) > 0 ? 'done, died again' : state
}

/** What an operation did to one job. */
export const jobOutcomes = ['acted', 'skipped', 'failed'] as const
export type JobOutcome = (typeof jobOutcomes)[number]
