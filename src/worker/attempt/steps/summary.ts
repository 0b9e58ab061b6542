import { toStorable } from '../../../core/json/storable.ts'
import { byteLength } from '../../../core/json/utf8.ts'
import type { StepRecord, StepType } from '../../../flows/steps/steps.ts'

/** What people see of a record once its job has ended. */
interface StepSummary {
  name: string
  n: number
  type: StepType
  state: string
  tries: number
  startedAt: string | undefined
  endedAt: string | undefined
  error: { name: string; message: string } | undefined
  result?: unknown
  /** There was no room for its result. */
  isCut?: true | undefined
}

const maxBytes = 64 * 1024
/** Of a message, if not all fits. */
const longestMessage = 500

/**
 * The steps of a job that has ended, for people: JSON text of at most 64 KiB, undefined if there are none. Results that find no
 * room are left out, the first come first; of thousands of steps the last are kept.
 */
export function stepSummary(records: Iterable<StepRecord>): string | undefined {
  const sorted = [...records].sort((a, b) => a.seq - b.seq)
  if (sorted.length === 0) return undefined
  const whole = toStorable(
    sorted.map((one) => ({ ...factsOf(one), result: one.result })),
    { maxBytes },
  )
  if (whole.text.startsWith('[')) return whole.text
  let room = maxBytes - '[]'.length
  const kept: StepSummary[] = []
  for (const one of sorted.toReversed()) {
    const facts: StepSummary = {
      ...shortened(factsOf(one)),
      ...(one.result !== undefined && { isCut: true }),
    }
    room -= sizeOf(facts)
    if (room < 0) break
    kept.unshift(facts)
  }
  for (const [index, { result }] of sorted.slice(-kept.length).entries()) {
    const facts = kept[index]
    if (result === undefined || facts === undefined) continue
    const shown = { ...facts, isCut: undefined, result }
    const more = sizeOf(shown) - sizeOf(facts)
    if (more > room) continue
    room -= more
    kept[index] = shown
  }
  return toStorable(kept, { maxBytes }).text
}

function factsOf({ name, n, type, state, tries, startedAt, endedAt, error }: StepRecord): StepSummary {
  return {
    ...{ name, n, type, state, tries },
    startedAt: isoOf(startedAt),
    endedAt: isoOf(endedAt),
    error: error === null ? undefined : { name: error.name, message: error.message },
  }
}

/** A record may have been written by another role: its time may be infinite. */
function isoOf(ms: number | null): string | undefined {
  const time = new Date(ms ?? NaN)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

function shortened(facts: StepSummary): StepSummary {
  const { error } = facts
  return error === undefined
    ? facts
    : { ...facts, error: { ...error, message: error.message.slice(0, longestMessage) } }
}

/** With the comma behind it. */
function sizeOf(facts: StepSummary): number {
  return byteLength(JSON.stringify(facts)) + 1
}
