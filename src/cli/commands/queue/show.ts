import type { Pause } from '../../../jobs/pauses/pauses.ts'
import { pauseOfQueue } from '../../../jobs/pauses/pauses.ts'
import type { QueueSettings } from '../../../jobs/queue-settings.ts'
import { moment, relative, span } from '../../output/format.ts'
import { facts, say, sayJson } from '../../output/output.ts'

export function show(settings: QueueSettings, asJson: boolean): number {
  if (asJson) return sayJson(settings)
  const now = new Date()
  return say(
    facts([
      ['queue', settings.queue],
      ['keep', keepText(settings.keepMs)],
      ['keep dead', keepDeadText(settings.keepDeadMs)],
      ['set', moment(settings.updatedAt, now)],
      ...settings.pauses.map((pause): [string, string] => ['paused', pauseText(pause, now)]),
    ]),
  )
}

/** What is paused of a queue, in a few words: `all, 2 kinds, 1 key`. */
export function pausedText(pauses: readonly Pause[]): string {
  const kinds = pauses.filter(({ kind }) => kind !== null).length
  const keys = pauses.filter(({ key }) => key !== null).length
  return [
    ...(pauseOfQueue(pauses) === undefined ? [] : ['all']),
    ...(kinds === 0 ? [] : [`${kinds} ${kinds === 1 ? 'kind' : 'kinds'}`]),
    ...(keys === 0 ? [] : [`${keys} ${keys === 1 ? 'key' : 'keys'}`]),
  ].join(', ')
}

function pauseText({ kind, key, since, until, by, reason }: Pause, now: Date): string {
  const what = kind !== null ? `kind ${kind}` : key !== null ? `key ${key}` : 'all jobs'
  const end = until === null ? 'until it is resumed' : `until ${moment(until, now)}`
  const start = since === null ? '' : ` ${relative(since, now)}`
  return `${what}, by ${by ?? '?'}${start}, ${end}: ${reason ?? 'no reason'}`
}

export function keepText(keepMs: number | null): string {
  if (keepMs === null) return '7d (default)'
  return keepMs === 0 ? 'a few minutes' : span(keepMs)
}

export function keepDeadText(keepDeadMs: number | null): string {
  return keepDeadMs === null ? 'forever' : span(keepDeadMs)
}
