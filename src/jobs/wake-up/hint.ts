import { priorityRange } from '../../core/priority.ts'
import { peek } from '../../core/failures/thrown.ts'

/** Says that a job was stored and where to look for it. Only a hint: a lost one costs one poll, never a job. */
export interface Hint {
  queue: string
  priority: number
  /** Whether it has a key. */
  keyed: boolean
  /** The key of a ready job; undefined where it is not known, or there are many. */
  key?: string | undefined
  /** When it falls due from now; 0 when it is ready. */
  inMs: number
}

/** The channel of one schema; two Stints in one database do not wake each other. */
export function channelOf(schema: string): string {
  return `${schema}_ready`
}

/** Jobs that fall due later than this are not announced: polling finds them long before. */
export const farthestHintMs = 60_000

/** Postgres takes payloads below 8,000 bytes. */
const maxPayload = 7_900

/** Hints as payloads of NOTIFY, each short enough. */
export function payloadsOf(hints: readonly Hint[]): string[] {
  const payloads: string[] = []
  let current: string[] = []
  let bytes = 0
  for (const { queue, priority, keyed, key, inMs } of hints) {
    const known = [queue, priority, keyed ? 1 : 0, Math.round(inMs)]
    const entry = JSON.stringify(key === undefined ? known : [...known, key])
    // With its comma and, at the end, the brackets. A key has at most 512 bytes, six times that as JSON: an entry always fits.
    const entryBytes = Buffer.byteLength(entry) + 1
    if (current.length > 0 && bytes + entryBytes + 2 > maxPayload) {
      payloads.push(`[${current.join()}]`)
      current = []
      bytes = 0
    }
    current.push(entry)
    bytes += entryBytes
  }
  if (current.length > 0) payloads.push(`[${current.join()}]`)
  return payloads
}

/** Says that a job of this worker was asked to stop. */
export function cancelPayload(worker: string): string {
  return JSON.stringify({ cancel: [worker] })
}

/** Says that schedules were changed: the next fire may be sooner than workers expect. */
export const schedulesPayload = JSON.stringify({ schedules: true })

/** Says that rules of flow control were changed: pauses, limits, breakers. */
export const rulesPayload = JSON.stringify({ rules: true })

/** Whether a payload says that rules were changed. */
export function saysRules(payload: string): boolean {
  return payload === rulesPayload
}

/** Whether a payload says that schedules were changed. */
export function saysSchedules(payload: string): boolean {
  return payload === schedulesPayload
}

/** Whether a payload tells this worker to look for cancellations. */
export function saysCancel(payload: string, worker: string): boolean {
  try {
    const said = peek(JSON.parse(payload), 'cancel')
    return Array.isArray(said) && said.includes(worker)
  } catch {
    return false
  }
}

/**
 * The hints of a payload that are about queues of ours. Any login of the database may send any text on the channel, so
 * a text that no producer would send is ignored.
 */
export function hintsIn(payload: string, serves: (queue: string) => boolean): Hint[] {
  try {
    const entries = JSON.parse(payload) as unknown
    if (!Array.isArray(entries)) return []
    return entries.flatMap((entry: unknown) => {
      if (!Array.isArray(entry)) return []
      const [queue, priority, keyed, inMs, key] = entry as unknown[]
      if (typeof queue !== 'string' || !serves(queue)) return []
      if (!isWithin(priority, priorityRange) || !Number.isInteger(priority)) return []
      if (keyed !== 0 && keyed !== 1) return []
      if (!isWithin(inMs, { min: 0, max: farthestHintMs })) return []
      if (key !== undefined && (typeof key !== 'string' || keyed === 0)) return []
      return [{ queue, priority, keyed: keyed === 1, inMs, key }]
    })
  } catch {
    return []
  }
}

function isWithin(value: unknown, { min, max }: { min: number; max: number }): value is number {
  return typeof value === 'number' && value >= min && value <= max
}
