import type { LimitedLane, ProbeCandidate } from '../../jobs/claim.ts'
import { start } from '../../jobs/position.ts'
import type { Level } from './floor.ts'
import { laneOf } from './lane-key.ts'
import type { LaneTurn } from './lane-key.ts'
import type { QueuePool } from './queue-pool.ts'

type Ordering = Pick<QueuePool, 'ordering'>

export function plainLane({ priority, floor }: Level, take: number): LimitedLane {
  return { key: null, priority, floor, take, isOrdered: false }
}

/** The lanes of a key: one for the jobs that start in order, and one for the others, where the queue has both. */
export function limitedLanesOf({ ordering }: Ordering): (turn: LaneTurn) => LimitedLane[] {
  return (turn) => {
    const lane = laneOf(turn)
    if (ordering === 'none') return [{ ...lane, isOrdered: false }]
    if (ordering === 'all') return [{ ...lane, isOrdered: true }]
    // The floor is a place by time: it means nothing among jobs that start in order.
    return [
      { ...lane, isOrdered: true, floor: start },
      { ...lane, isOrdered: false },
    ]
  }
}

/** The lanes of jobs that may probe a breaker. */
export function candidateLanes(
  { ordering }: Ordering,
  candidates: readonly ProbeCandidate[],
  take: number,
): LimitedLane[] {
  const distinct = new Map(candidates.map((one) => [`${one.priority} ${one.key}`, one]))
  return [...distinct.values()].flatMap(({ key, priority }) => {
    const lane = { key, priority, floor: start, take, isOrdered: false }
    if (key === null || ordering === 'none') return [lane]
    const ordered = { ...lane, isOrdered: true }
    return ordering === 'all' ? [ordered] : [ordered, lane]
  })
}
