import { peek } from '../core/thrown.ts'

/** That something was stored, where to look for it. Never truth: a lost hint costs one poll, never a job. */
export interface Hint {
  queue: string
  priority: number
  /** Whether it has a key. */
  keyed: boolean
  /** When it falls due from now; 0 when it is ready. */
  inMs: number
}

/** The channel of one schema; two Stints in one database do not wake each other. */
export function channelOf(schema: string): string {
  return `${schema}_ready`
}

/** Postgres takes payloads below 8,000 bytes. */
const maxPayload = 7_900

/** Hints as payloads of NOTIFY, each short enough. */
export function payloadsOf(hints: readonly Hint[]): string[] {
  const payloads: string[] = []
  let current = ''
  for (const { queue, priority, keyed, inMs } of hints) {
    const entry = JSON.stringify([queue, priority, keyed ? 1 : 0, Math.round(inMs)])
    // A queue's name has at most 128 characters of ASCII, so an entry always fits.
    if (current !== '' && current.length + entry.length + 3 > maxPayload) {
      payloads.push(`[${current}]`)
      current = ''
    }
    current += current === '' ? entry : `,${entry}`
  }
  if (current !== '') payloads.push(`[${current}]`)
  return payloads
}

/** Says that a job of this worker was asked to stop. */
export function cancelPayload(worker: string): string {
  return JSON.stringify({ cancel: [worker] })
}

/** Says that schedules were changed: what is due next may be sooner than was thought. */
export const schedulesPayload = JSON.stringify({ schedules: true })

/** Whether a payload says so. */
export function saysSchedules(payload: string): boolean {
  return payload === schedulesPayload
}

/** The workers that should look for cancellations; none where the payload is about something else. */
export function cancelsIn(payload: string): string[] {
  try {
    const said = peek(JSON.parse(payload), 'cancel')
    return Array.isArray(said) ? said.filter((one): one is string => typeof one === 'string') : []
  } catch {
    return []
  }
}

/** What somebody said on the channel; nothing where it is not ours. */
export function hintsIn(payload: string): Hint[] {
  try {
    const entries = JSON.parse(payload) as unknown
    if (!Array.isArray(entries)) return []
    return entries.flatMap((entry: unknown) => {
      if (!Array.isArray(entry)) return []
      const [queue, priority, keyed, inMs] = entry as unknown[]
      if (typeof queue !== 'string' || typeof priority !== 'number' || typeof inMs !== 'number') return []
      return [{ queue, priority, keyed: keyed === 1, inMs }]
    })
  } catch {
    return []
  }
}
