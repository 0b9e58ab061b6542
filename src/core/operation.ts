/** What can be done to many jobs at once. */
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

/** Whether it acts, or is about to, without anybody's doing. */
export function isUnderWay(state: OperationState): boolean {
  return state === 'pending' || state === 'canary' || state === 'ramping'
}

/** What an operation did to one job. */
export const jobOutcomes = ['acted', 'skipped', 'failed'] as const
export type JobOutcome = (typeof jobOutcomes)[number]
