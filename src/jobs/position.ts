import { firstUuid, uuidBefore } from '../core/uuid.ts'

/** A place in the order of a queue's ready jobs of one priority. */
export interface Position {
  /** As Postgres prints it in UTC, to the microsecond: a Date would round it. Sorts as text. */
  readonly runAt: string
  readonly id: string
}

/** Before every job. */
export const start: Position = { runAt: '-infinity', id: firstUuid }

export function isBefore(a: Position, b: Position): boolean {
  if (a.runAt === b.runAt) return a.id < b.id
  if (a.runAt === start.runAt) return true
  return b.runAt !== start.runAt && a.runAt < b.runAt
}

/** The place just before a job, so that what comes after it begins with that job. */
export function justBefore({ runAt, id }: Position): Position {
  return { runAt, id: uuidBefore(id) ?? firstUuid }
}

/** As a statement takes it: the text is in UTC and says so. */
export function floorParams({ runAt, id }: Position): { floorAt: string; floorId: string } {
  return { floorAt: runAt === start.runAt ? runAt : `${runAt}+00`, floorId: id }
}
