import type { Action, Role } from '../api/common.ts'

/** The actions that each role adds to those of the role before it. */
const own: Readonly<Record<Role, readonly Action[]>> = {
  viewer: ['view'],
  operator: [
    ...(['view.input', 'enqueue', 'replay', 'cancel', 'run-now', 'reschedule', 'reprioritize'] as const),
    ...(['discard', 'restore', 'operation', 'triage', 'schedule.run', 'pause', 'probe', 'flow'] as const),
  ],
  admin: ['edit', 'schedule.edit', 'queue.edit', 'limit', 'breaker', 'audit'],
}

const viewer = new Set(own.viewer)
const operator = new Set([...viewer, ...own.operator])
const admin = new Set([...operator, ...own.admin])

/** All actions of a role: an operator has those of a viewer, an admin those of an operator. */
export const actionsOf: Readonly<Record<Role, ReadonlySet<Action>>> = { viewer, operator, admin }
