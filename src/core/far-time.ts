/**
 * A stored time that is out of range: `infinity`, or a year outside of 1 to 9999, which ISO 8601 cannot write in four
 * digits. It compares as the nearest time that JavaScript has, and is null in JSON, so that its row can be read, shown
 * and removed like any other.
 */
export class FarTime extends Date {
  /** As Postgres prints it. */
  readonly stored: string

  constructor(stored: string, ms: number) {
    super(Math.max(-farthestMs, Math.min(farthestMs, ms)))
    this.stored = stored
  }

  // The type of Date's own method leaves null out, though it gives null for an invalid date.
  override toJSON(): string {
    return null as unknown as string
  }
}

/** The last millisecond that a Date can have. */
const farthestMs = 8.64e15
const earliestMs = Date.parse('0001-01-01T00:00:00Z')
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * A time that the driver has parsed: it returns a number for an infinite time, an invalid Date beyond the year 275760,
 * and any value if the app has set its own parser.
 */
export function storedTime(text: string, read: unknown): Date {
  const ms = read instanceof Date ? read.getTime() : typeof read === 'number' ? read : Date.parse(text)
  if (ms >= earliestMs && ms <= latestMs) return read instanceof Date ? read : new Date(ms)
  const isPast = ms < earliestMs || text.startsWith('-') || text.endsWith('BC')
  return new FarTime(text, Number.isNaN(ms) ? (isPast ? -Infinity : Infinity) : ms)
}
