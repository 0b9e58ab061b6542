import type { Pause } from '../../jobs/pauses/pauses.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import { shownText } from './job-item.ts'

/** The resource that a pause is of: the queue, or one kind or key of it. */
export function resourceOfPause(queue: string, { kind, key }: Pick<Pause, 'kind' | 'key'>): Resource {
  return { queue, ...(kind !== null && { kind }), ...(key !== null && { key }) }
}

/** A queue with those of its pauses that this caller may see. */
export function withPausesFor<Queue extends { queue: string; pauses: readonly Pause[] }>(
  caller: Pick<Caller, 'can'>,
  of: Queue,
): Queue {
  if (of.pauses.length === 0) return of
  const pauses = of.pauses
    .filter((pause) => caller.can('view', resourceOfPause(of.queue, pause)))
    .map((pause) => ({ ...pause, reason: shownText(pause.reason) }))
  return { ...of, pauses }
}
