import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { pausesSql } from './pauses.sql.ts'

interface Held {
  queue: string
  kind: string | null
  key: string | null
  by: string | null
  reason: string | null
  heldMs: number
}

/** Ready jobs that are looked at for each pause. */
const most = 1_000

export const pauses: Check = async (db, { pausedMs }) => {
  const found = await run(db, pausesSql, { heldMs: pausedMs, most }, (row: Held) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'No pause is forgotten',
      detail: `No pause holds a ready job for more than ${span(pausedMs)}.`,
    }
  const said = found.map(
    ({ queue, kind, key, by, reason, heldMs }) =>
      `${nameOf({ queue, kind, key })} was paused by ${by ?? 'an unknown login'} (${reason ?? 'no reason'}), and its oldest job has waited ${span(heldMs)}`,
  )
  return {
    level: 'warn',
    title: `${found.length === 1 ? 'A pause holds' : `${found.length} pauses hold`} old jobs`,
    detail: `${listing(said, '; ')}. Resume it, or give it an end.`,
    fix: `stint queue get ${first.queue}`,
  }
}

function nameOf({ queue, kind, key }: Pick<Held, 'queue' | 'kind' | 'key'>): string {
  if (kind !== null) return `kind ${kind} of ${queue}`
  return key === null ? queue : `key ${key} of ${queue}`
}
