import type { Duration } from '../core/duration.ts'
import { nameOption } from '../core/names.ts'
import { durationOption, invalidOption, rejectUnknown } from '../core/options.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import type { NewPause, Pausable } from '../jobs/pauses/pauses.ts'
import { instant } from '../schedules/rules/rule.ts'
import { reasonOption } from './operator/actor.ts'

/** Which jobs of the queue: all, or those of one kind or one key. */
export interface PausedPart {
  /** Only jobs of this kind. */
  kind?: string | undefined
  /** Only jobs with this key. */
  key?: string | undefined
}

export interface PauseOptions extends PausedPart {
  /** When the pause ends by itself. @default it lasts until it is resumed */
  until?: Date | string | undefined
  /** How long it lasts, instead of `until`. */
  for?: Duration | undefined
  /** Why: shown wherever the pause is shown; up to 1,000 characters. */
  reason: string
}

export function resolvePause(queue: string, options: PauseOptions, by: string): NewPause {
  const { kind, key, until, for: span, reason, ...rest } = options
  rejectUnknown('queues.pause()', rest, ['kind', 'key', 'until', 'for', 'reason'])
  const paused = pausable(queue, { kind, key })
  if (until !== undefined && span !== undefined)
    throw invalidOption('until', 'left out if `for` is given', until)
  const untilMs = until === undefined ? undefined : instant('until', until)
  if (untilMs !== undefined && untilMs <= Date.now()) throw invalidOption('until', 'in the future', until)
  const why = reasonOption(reason)
  if (why === null) throw invalidOption('reason', 'a text that says why', reason)
  return {
    ...paused,
    until: untilMs === undefined ? null : new Date(untilMs).toISOString(),
    forMs: span === undefined ? null : durationOption('for', span, { minMs: 1 }),
    by,
    reason: why,
  }
}

export function resolveResume(queue: string, { kind, key, ...rest }: PausedPart): Pausable {
  rejectUnknown('queues.resume()', rest, ['kind', 'key'])
  return pausable(queue, { kind, key })
}

function pausable(queue: string, { kind, key }: PausedPart): Pausable {
  if (kind !== undefined && key !== undefined)
    throw invalidOption('key', 'left out if `kind` is given: a pause is of a queue, a kind or a key', key)
  return {
    queue: nameOption('queue', queue),
    kind: kind === undefined ? undefined : nameOption('kind', kind),
    key: keyText('key', key, 512),
  }
}
