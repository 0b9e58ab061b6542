import type { Action, Role } from '../api/common.ts'

/** What each role may do beyond the one before it. */
const own: Readonly<Record<Role, readonly Action[]>> = {
  viewer: ['view'],
  operator: [
    ...(['view.input', 'enqueue', 'replay', 'cancel', 'run-now', 'reschedule', 'reprioritize'] as const),
    ...(['discard', 'restore', 'operation', 'triage', 'schedule.run'] as const),
  ],
  admin: ['edit', 'schedule.edit', 'queue.edit', 'audit'],
}

const viewer = new Set(own.viewer)
const operator = new Set([...viewer, ...own.operator])
const admin = new Set([...operator, ...own.admin])

/** The actions of a role: a viewer's are an operator's too, and those an admin's. */
export const actionsOf: Readonly<Record<Role, ReadonlySet<Action>>> = { viewer, operator, admin }
