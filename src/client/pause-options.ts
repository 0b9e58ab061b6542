import { nameOption } from '../core/names.ts'
import { invalidOption, rejectUnknown } from '../core/options.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import type { NewPause, Pausable } from '../jobs/pauses/pauses.ts'
import { endOption } from './end-option.ts'
import type { EndOptions } from './end-option.ts'
import { reasonOption } from './operator/actor.ts'

/** Which jobs of the queue: all, or those of one kind or one key. */
export interface PausedPart {
  /** Only jobs of this kind. */
  kind?: string | undefined
  /** Only jobs with this key. */
  key?: string | undefined
}

/** Without an end it lasts until it is resumed. */
export interface PauseOptions extends PausedPart, EndOptions {
  /** Why: shown wherever the pause is shown; up to 1,000 characters. */
  reason: string
}

export function resolvePause(queue: string, options: PauseOptions, by: string): NewPause {
  const { kind, key, until, for: span, reason, ...rest } = options
  rejectUnknown('queues.pause()', rest, ['kind', 'key', 'until', 'for', 'reason'])
  const paused = pausable(queue, { kind, key })
  const end = endOption({ until, for: span })
  const why = reasonOption(reason)
  if (why === null) throw invalidOption('reason', 'a text that says why', reason)
  return {
    ...paused,
    until: null,
    forMs: null,
    ...end,
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
