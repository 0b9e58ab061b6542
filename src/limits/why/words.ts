import type { JobState } from '../../core/job.ts'
import { printable } from '../../core/json/printable.ts'
import { most } from './facts.ts'
import type { HolderFacts } from './facts.ts'

/** Infinity for a time that no calendar has; 0 where there is none. */
export function msUntil(time: string | Date | null, asOf: Date): number {
  if (time === null) return 0
  const at = time instanceof Date ? time.getTime() : Date.parse(time)
  if (!Number.isNaN(at)) return at - asOf.getTime()
  return typeof time === 'string' && time.startsWith('-') ? -Infinity : Infinity
}

export function moment(asOf: Date, inMs: number): string {
  return new Date(asOf.getTime() + inMs).toISOString().replace('T', ' ').replace(/\.\d+/, '')
}

export function quoted(reason: string | null): string {
  return reason === null || reason === '' ? '' : `: "${shown(reason)}"`
}

const longestShown = 200

/** A stored text on one line. */
export function shown(text: string): string {
  const line = printable(text.replace(/\s+/g, ' ').trim())
  return line.length <= longestShown ? line : `${line.slice(0, longestShown - 1)}…`
}

export function shortId(id: string): string {
  return `…${id.slice(-4)}`
}

export function bounded(jobs: number): string {
  return jobs >= most ? `${number(most - 1)}+` : number(jobs)
}

export function number(value: number): string {
  return value.toLocaleString('en-US')
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0
}

/** Another job that stands in the way. */
export interface WhyHolder {
  id: string
  queue: string
  kind: string
  key: string | null
  state: JobState
  workerId: string | null
  /** How long it has been running; null if it does not run. */
  heldMs: number | null
}

export function toHolder(asOf: Date): (facts: HolderFacts) => WhyHolder {
  return ({ id, queue, kind, key, state, worker: workerId, since }) => {
    const heldMs = state === 'running' ? -msUntil(since, asOf) : NaN
    return {
      id,
      queue,
      kind,
      key,
      state,
      workerId,
      heldMs: Number.isFinite(heldMs) ? Math.max(0, Math.round(heldMs)) : null,
    }
  }
}
