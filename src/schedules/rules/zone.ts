import { invalidOption } from '../../core/options.ts'

/**
 * A span in which a time zone has a constant offset: from an instant on, it is so many milliseconds ahead of UTC.
 *
 * The data comes from Intl, that is from the tz database that Node was built with.
 */
export interface Segment {
  readonly fromMs: number
  readonly offsetMs: number
}

/** No zone changes its clock twice within a week. */
const probeMs = 7 * 86_400_000

/**
 * The name of a zone; throws `invalid-option`. Intl knows some zones by an older name (Asia/Calcutta for Asia/Kolkata):
 * then the name stays as the user wrote it.
 */
export function timeZoneOption(value: unknown): string {
  try {
    if (typeof value === 'string' && value.length <= 64) {
      const known = formatOf(value).resolvedOptions().timeZone
      return known === 'UTC' || known.toLowerCase() === value.toLowerCase() ? known : value
    }
  } catch {
    // Thrown below.
  }
  throw invalidOption('timeZone', "an IANA time zone such as 'Europe/Rome' or 'UTC'", value)
}

const formats = new Map<string, Intl.DateTimeFormat>()
/** There are about 600 zones, but a name may be written in upper or lower case. */
const rememberedZones = 1_000

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      era: 'short',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    })
    if (formats.size >= rememberedZones) formats.clear()
    formats.set(timeZone, format)
  }
  return format
}

/** How far the zone is ahead of UTC at an instant. */
export function offsetAt(timeZone: string, ms: number): number {
  if (timeZone === 'UTC') return 0
  const whole = Math.floor(ms / 1_000) * 1_000
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(whole)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - whole
}

const changes = new Map<string, readonly Segment[]>()
const rememberedYears = 5_000

/** The clock changes of a zone within a year (UTC), in order. */
function changesOf(timeZone: string, year: number): readonly Segment[] {
  const name = `${timeZone} ${year}`
  let found = changes.get(name)
  if (found === undefined) {
    if (changes.size >= rememberedYears) changes.clear()
    changes.set(name, (found = findChanges(timeZone, year)))
  }
  return found
}

function findChanges(timeZone: string, year: number): Segment[] {
  if (timeZone === 'UTC') return []
  const found: Segment[] = []
  const endMs = Date.UTC(year + 1, 0, 1)
  let offset = offsetAt(timeZone, Date.UTC(year, 0, 1) - 1)
  for (let ms = Date.UTC(year, 0, 1) - 1; ms < endMs - 1; ms += probeMs) {
    const untilMs = Math.min(ms + probeMs, endMs - 1)
    const after = offsetAt(timeZone, untilMs)
    if (after === offset) continue
    found.push({ fromMs: firstInstant(timeZone, ms, untilMs), offsetMs: after })
    offset = after
  }
  return found
}

/** The first instant of the new offset, between an instant of the old offset and one of the new. */
function firstInstant(timeZone: string, oldMs: number, newMs: number): number {
  const offset = offsetAt(timeZone, oldMs)
  let [low, high] = [oldMs, newMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(timeZone, middle) === offset) low = middle
    else high = middle
  }
  return high
}

/** The next clock change after an instant, up to the end of the year of `untilMs`. */
export function nextChange(timeZone: string, afterMs: number, untilMs: number): Segment | undefined {
  const lastYear = new Date(untilMs).getUTCFullYear()
  for (let year = new Date(afterMs).getUTCFullYear(); year <= lastYear; year++) {
    const change = changesOf(timeZone, year).find(({ fromMs }) => fromMs > afterMs)
    if (change !== undefined) return change
  }
  return undefined
}
