import { CronPattern } from 'croner'
import { StintError } from '../../core/errors.ts'
import { show } from '../../core/options.ts'
import { messageOf } from '../../core/failures/thrown.ts'

/**
 * A parsed cron expression: which seconds, minutes and hours of a day, and which days.
 *
 * croner parses the expression; this file searches for the matching times. croner's own search takes half a second for
 * 30 February, and for some impossible dates ends in a stack overflow. This search visits each day of forty years at most,
 * in a millisecond. All times are wall-clock times, counted as if the zone were UTC: occurrences.ts handles clock changes.
 */
export interface Cron {
  /** Seconds of the day, in order. */
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly pattern: CronPattern
  /** Its hour is `*`: it means "every so many minutes", so it follows elapsed time and not the wall clock. */
  readonly isEveryHour: boolean
}

const longestExpression = 256
/** Every combination of date and weekday occurs within this span, also across a century that is not a leap year. */
const horizonDays = 40 * 366
const dayMs = 86_400_000

const parsed = new Map<string, Cron>()
const rememberedExpressions = 1_000

/** Throws `invalid-option` for a value that is not a cron expression, or one that never matches. */
export function parseCron(expression: unknown): Cron {
  if (typeof expression !== 'string') throw invalidCron(expression, 'it is not a string')
  const known = parsed.get(expression)
  if (known !== undefined) return known
  const cron = read(expression)
  if (nextWall(cron, referenceMs) === undefined)
    throw invalidCron(expression, 'it never fires: there is no such day')
  if (parsed.size >= rememberedExpressions) parsed.clear()
  parsed.set(expression, cron)
  return cron
}

/** 1 January 2026, a fixed date: whether an expression ever matches must not depend on the day of the check. */
const referenceMs = 1_767_225_600_000

function read(expression: string): Cron {
  if (expression.length > longestExpression)
    throw invalidCron(expression, `it has ${expression.length} characters, at most ${longestExpression}`)
  // `?` means `*`, but croner replaces it only after it has checked whether the day is `*`.
  const text = expression.trim().replace(/(?<=^|\s)\?(?=\s|$)/g, '*')
  let pattern: CronPattern
  try {
    pattern = new CronPattern(text, undefined, { mode: '5-or-6-parts' })
  } catch (error) {
    throw invalidCron(expression, reasonOf(error), error)
  }
  return Object.freeze({
    seconds: indexes(pattern.second),
    minutes: indexes(pattern.minute),
    hours: indexes(pattern.hour),
    pattern,
    isEveryHour: pattern.hour.every((one) => one !== 0),
  })
}

/** The first match after a wall-clock time, in milliseconds as if it were UTC; undefined if there is none. */
export function nextWall(cron: Cron, afterMs: number): number | undefined {
  const start = Math.floor(afterMs / 1_000) * 1_000 + 1_000
  const firstDay = Math.floor(start / dayMs)
  for (let day = firstDay; day < firstDay + horizonDays; day++) {
    const date = new Date(day * dayMs)
    const month = date.getUTCMonth()
    if (cron.pattern.month[month] === 0) {
      // Continue with the next month: the loop adds a day.
      day = Math.floor(Date.UTC(date.getUTCFullYear(), month + 1, 1) / dayMs) - 1
      continue
    }
    if (!isDay(cron.pattern, date)) continue
    const second = timeOfDay(cron, day === firstDay ? (start - day * dayMs) / 1_000 : 0)
    if (second !== undefined) return day * dayMs + second * 1_000
  }
  return undefined
}

/** The first matching second of the day at or after `from`. */
function timeOfDay({ hours, minutes, seconds }: Cron, from: number): number | undefined {
  for (const hour of hours) {
    if (hour * 3_600 + 3_599 < from) continue
    for (const minute of minutes) {
      const base = hour * 3_600 + minute * 60
      if (base + 59 < from) continue
      for (const second of seconds) if (base + second >= from) return base + second
    }
  }
  return undefined
}

const lastOfMonth = 0b100000

/** As in Vixie cron: if both the day of the month and the day of the week are given, a day that matches either one counts. */
function isDay(pattern: CronPattern, date: Date): boolean {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const weekday = date.getUTCDay()
  const isOfMonth =
    pattern.day[day - 1] !== 0 ||
    (pattern.lastDayOfMonth && day === last) ||
    (pattern.lastWeekday && day === nearestWorkday(year, month, last, last)) ||
    pattern.nearestWeekdays.some(
      (one, index) => one !== 0 && index < last && day === nearestWorkday(year, month, index + 1, last),
    )
  if (pattern.starDOW) return isOfMonth
  const nth = (1 << (Math.ceil(day / 7) - 1)) | (day + 7 > last ? lastOfMonth : 0)
  const isOfWeek = ((pattern.dayOfWeek[weekday] ?? 0) & nth) !== 0
  return pattern.useAndLogic || pattern.starDOM ? isOfMonth && isOfWeek : isOfMonth || isOfWeek
}

/** The working day nearest to a day, within its month. */
function nearestWorkday(year: number, month: number, day: number, last: number): number {
  const weekday = new Date(Date.UTC(year, month, day)).getUTCDay()
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === last ? day - 2 : day + 1
  return day
}

function indexes(flags: readonly number[]): number[] {
  return flags.flatMap((flag, index) => (flag === 0 ? [] : [index]))
}

function reasonOf(error: unknown): string {
  const message = messageOf(error)
  return message.replace(/^CronPattern: /, '').slice(0, 200)
}

function invalidCron(expression: unknown, why: string, cause?: unknown): StintError {
  return new StintError(
    'invalid-option',
    `Expected \`cron\` to be a cron expression of 5 fields, or 6 with seconds in front, got ${show(expression)}: ${why}.`,
    { cause, issues: [{ path: 'cron', message: why }] },
  )
}
