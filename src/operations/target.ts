import { StintError } from '../core/errors.ts'
import type { JobState } from '../core/job.ts'
import type { Where } from '../core/filter/where.ts'
import type { OperationAction } from '../core/operation.ts'

/** The states in which each action is possible. */
const statesOf: Readonly<Record<OperationAction, readonly JobState[]>> = {
  replay: ['dead'],
  discard: ['dead'],
  restore: ['dead'],
  cancel: ['scheduled', 'waiting', 'ready', 'running', 'retrying'],
  'run-now': ['scheduled', 'retrying'],
  reprioritize: ['scheduled', 'waiting', 'ready', 'retrying'],
}

/** The filter, narrowed to jobs on which the action is possible. */
export function targetWhere(action: OperationAction, where: Where): Where {
  const states = statesOf[action].filter(
    (state) => where.states === undefined || where.states.includes(state),
  )
  if (states.length === 0)
    throw refused(
      `${action} is about jobs that are ${statesOf[action].join(', ')}, and the filter names others`,
    )
  const isAboutDead = states.includes('dead')
  if (!isAboutDead && (where.errors !== undefined || where.isDiscarded === true || where.isReplaced === true))
    throw refused(`${action} is about live jobs, and the filter is about dead letters`)
  if (where.isReplaced === true)
    throw refused('dead letters that were edited into another job stay as they are')
  if (action === 'restore') return { ...where, states, isDiscarded: true }
  if (where.isDiscarded === true)
    throw refused(`what is in the trash has to be restored before it is ${action}ed`)
  return { ...where, states }
}

/** The reasons why matches are left out, each with the filter that finds those jobs. */
export function hiddenWheres(action: OperationAction, where: Where): { reason: string; where: Where }[] {
  if (action !== 'replay' && action !== 'discard') return []
  return [
    { reason: 'in the trash', where: { ...where, isDiscarded: true } },
    { reason: 'edited into another job', where: { ...where, isReplaced: true } },
  ]
}

function refused(message: string): StintError {
  return new StintError('invalid-option', `Expected \`where\` to fit the action: ${message}.`, {
    issues: [{ path: 'where', message }],
  })
}
