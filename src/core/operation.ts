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

/** One action on many jobs. `acted + skipped + failed + untouched = matched`. */
export interface Operation {
  id: string
  action: OperationAction
  state: OperationState
  /** The filter that chose the jobs; null if it was given ids. */
  where: string | null
  /** How many ids it was given; 0 for a filter. */
  ids: number
  /** Jobs that match only later are not taken: the `asOf` of its preview, or the time of its start. */
  frozenAt: Date
  /** For `reprioritize`. */
  priority: number | null
  /** How many jobs it tries first. */
  canary: number
  /** Jobs a second after the canary; null: as fast as possible. */
  pace: number | null
  stopIf: StopRule
  /** It does nothing if more jobs than this match. */
  max: number
  /** How many of the jobs to replay crashed their worker. */
  crashed: number
  /** The Stint job that executes it. */
  jobId: string
  /** Null until all matching jobs are found. */
  matched: number | null
  acted: number
  skipped: number
  failed: number
  /** Null until all matching jobs are found. */
  untouched: number | null
  skippedBy: Readonly<Record<string, number>>
  canaryResult: CanaryResult | null
  /** What became of the replayed jobs; null for other actions. */
  fates: Fates | null
  /** Why it stopped or paused; of one that is done, what went wrong. */
  note: string | null
  reason: string
  actor: string
  role: string | null
  origin: string
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** The command that does the same. */
  cli: string
}

/** What is stored as JSON once it is known how many jobs match. */
export type OperationSettings = Pick<
  Operation,
  'ids' | 'priority' | 'canary' | 'pace' | 'stopIf' | 'max' | 'crashed'
>

/** What a caller asks for: an action, the jobs, and how carefully to act on them. */
export interface NewOperation {
  action: OperationAction
  /** Which jobs, as a filter: `state:dead error:b02c`. Jobs that begin to match later are not taken. */
  where?: string | undefined
  /** Or which jobs, by their ids; at most 1,000. */
  ids?: readonly string[] | undefined
  /** For `reprioritize`. */
  priority?: number | undefined
  /** Jobs that a replay tries first; 0 to 1,000. @default 1 of up to 10, a tenth of up to 100, else 10; 1 if one of them crashed its worker; 0 for a single job */
  canary?: number | undefined
  /** Jobs a second after the canary; null: as fast as possible. @default 20 for a replay of more than 100, else null */
  pace?: number | null | undefined
  /** Stops above this percentage of the canary, and then of all jobs that have ended. @default { sameError: 20 } */
  stopIf?: { sameError?: number | undefined; anyFailure?: number | undefined } | undefined
  /** Does nothing if more jobs than this match; up to 1,000,000. @default 10,000 */
  max?: number | undefined
  /** The `asOf` of the preview that the caller saw: jobs that were made, or died, later are not taken. @default now */
  asOf?: Date | undefined
}

/** Stops above this percentage of the canary, and then of all jobs that have ended; null does not stop it. */
export interface StopRule {
  /** Of jobs that failed with the error they had died of. */
  sameError: number | null
  /** Of jobs that failed with any error. */
  anyFailure: number | null
}

export interface CanaryResult {
  /** How many jobs of the canary have ended. */
  decided: number
  succeeded: number
  failed: number
  /** How many of the failed jobs had the error that they had died of. */
  sameError: number
}

/** Whether the operation acts now, or will start without a person's decision. */
export function isUnderWay(state: OperationState): boolean {
  return state === 'pending' || state === 'canary' || state === 'ramping'
}

/** What became of a replayed job: `live` until it has ended. */
export const jobFates = ['live', 'succeeded', 'same-error', 'other-error', 'cancelled'] as const
export type JobFate = (typeof jobFates)[number]

/** What became of the replayed jobs. The counts add up to `acted`. */
export interface Fates {
  /** Jobs that have not ended, or had not when the operation ended. */
  live: number
  succeeded: number
  /** Jobs that died again, with the error that they had died of. */
  sameError: number
  /** Jobs that died again, with another error. */
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
export function hasEndedBadly({ state, fates }: Pick<Operation, 'state' | 'fates'>): boolean {
  return state === 'stopped' || (state === 'done' && diedAgain(fates) > 0)
}

/** The state in words for people: a `done` operation says if jobs died again. */
export function stateOfOperation({ state, fates }: Pick<Operation, 'state' | 'fates'>): string {
  return state === 'done' && diedAgain(fates) > 0 ? 'done, died again' : state
}

/** What an operation did to one job. */
export const jobOutcomes = ['acted', 'skipped', 'failed'] as const
export type JobOutcome = (typeof jobOutcomes)[number]
