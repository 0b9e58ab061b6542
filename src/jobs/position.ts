import { firstUuid, uuidBefore } from '../core/uuid.ts'

/** A position in the order of a queue's ready jobs of one priority. */
export interface Position {
  /** As Postgres prints it in UTC, to the microsecond: a Date would round it. Within an era it sorts as text. */
  readonly runAt: string
  readonly id: string
}

/** Before every job. */
export const start: Position = { runAt: '-infinity', id: firstUuid }

/** False where that cannot be told: two times before our era, or two after the year 9999. */
export function isBefore(a: Position, b: Position): boolean {
  if (a.runAt === b.runAt) return a.id < b.id
  const [eraOfA, eraOfB] = [eraOf(a.runAt), eraOf(b.runAt)]
  return eraOfA === eraOfB ? eraOfA === eras.usual && a.runAt < b.runAt : eraOfA < eraOfB
}

const eras = { minusInfinity: 0, bc: 1, usual: 2, fiveDigitYears: 3, infinity: 4 } as const

/** A producer's own INSERT may store any time that Postgres has: '-infinity', 4714 BC, the year 294276, 'infinity'. */
function eraOf(runAt: string): number {
  const isUsualYear = runAt.charCodeAt(4) === dash
  if (isUsualYear && runAt.charCodeAt(runAt.length - 1) !== endOfBc) return eras.usual
  if (runAt === start.runAt) return eras.minusInfinity
  if (runAt === 'infinity') return eras.infinity
  return runAt.endsWith(bc) ? eras.bc : eras.fiveDigitYears
}

const bc = ' BC'
const endOfBc = bc.charCodeAt(2)
const dash = '-'.charCodeAt(0)

/** Whether a clock of our days could show this time. */
export function isUsualTime(runAt: string): boolean {
  return eraOf(runAt) === eras.usual
}

/** The position just before a job, so that what comes after it begins with that job. */
export function justBefore({ runAt, id }: Position): Position {
  const previous = uuidBefore(id)
  // Nothing of that time comes before the id of zeros.
  return previous === undefined ? start : { runAt, id: previous }
}

/** As a statement takes it: the text is in UTC and says so. */
export function floorParams({ runAt, id }: Position): { floorAt: string; floorId: string } {
  if (runAt.endsWith('infinity')) return { floorAt: runAt, floorId: id }
  const isBc = runAt.endsWith(bc)
  return { floorAt: isBc ? `${runAt.slice(0, -bc.length)}+00${bc}` : `${runAt}+00`, floorId: id }
}
