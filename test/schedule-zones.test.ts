import { expect, test } from 'vitest'
import { firstOccurrences, occurrences } from '../src/schedules/rules/occurrences.ts'
import { resolveRule } from '../src/schedules/rules/rule.ts'
import { form } from './support/form.ts'
import { workerScene } from './support/workers.ts'

const scene = workerScene()

/** Zones with every kind of clock change: north, south, half an hour, at midnight, around Ramadan, none. */
const zones = [
  ...['Europe/Rome', 'Europe/London', 'America/New_York', 'America/Los_Angeles', 'America/St_Johns'],
  ...['America/Santiago', 'Australia/Sydney', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Africa/Casablanca'],
  ...['Africa/Cairo', 'Asia/Kolkata'],
]
const from = Date.UTC(2026, 0, 1)
const years = form === 'short' ? 1 : 2
const until = Date.UTC(2026 + years, 0, 1)
const minute = 60_000
/** Every case fires on a multiple of five minutes, and clocks change on one too: nothing happens in between. */
const stepMinutes = 5

interface Wall {
  ms: number
  month: number
  day: number
  weekday: number
  hour: number
  minute: number
  text: string
}

/** The local time at every quarter of an hour, by PostgreSQL's own time zone data. */
async function quarters(timeZone: string): Promise<{ ms: number; wall: string; weekday: number }[]> {
  return scene.db.query(
    `select extract(epoch from at)::float8 * 1000 as ms,
            to_char(at at time zone $1, 'YYYY-MM-DD HH24:MI') as wall,
            extract(dow from at at time zone $1)::integer as weekday
       from generate_series($2::timestamptz, $3::timestamptz, interval '15 minutes') as at
      where at < $3
      order by at`,
    [timeZone, new Date(from - 86_400_000), new Date(until)],
  )
}

/** Every fifth minute of these years in that local time: offsets are a whole number of quarter hours from UTC. */
function* minutes(shown: Awaited<ReturnType<typeof quarters>>): Generator<Wall> {
  for (const { ms, wall, weekday } of shown) {
    for (let step = 0; step < 15; step += stepMinutes) {
      const at = Number(wall.slice(14)) + step
      yield {
        ms: ms + step * minute,
        month: Number(wall.slice(5, 7)),
        day: Number(wall.slice(8, 10)),
        weekday,
        hour: Number(wall.slice(11, 13)),
        minute: at,
        text: `${wall.slice(0, 14)}${String(at).padStart(2, '0')}`,
      }
    }
  }
}

interface Case {
  cron: string
  isOpenHour: boolean
  matches: (wall: Omit<Wall, 'ms' | 'text'>) => boolean
}

const cases: Case[] = [
  { cron: '30 2 * * *', isOpenHour: false, matches: (w) => w.hour === 2 && w.minute === 30 },
  { cron: '0 0 * * *', isOpenHour: false, matches: (w) => w.hour === 0 && w.minute === 0 },
  {
    cron: '*/20 1-3 * * *',
    isOpenHour: false,
    matches: (w) => w.hour >= 1 && w.hour <= 3 && w.minute % 20 === 0,
  },
  {
    cron: '15 */2 * * SUN',
    isOpenHour: false,
    matches: (w) => w.weekday === 0 && w.hour % 2 === 0 && w.minute === 15,
  },
  {
    cron: '45 0,23 13 * FRI',
    isOpenHour: false,
    matches: (w) => (w.day === 13 || w.weekday === 5) && (w.hour === 0 || w.hour === 23) && w.minute === 45,
  },
  { cron: '*/15 * * * *', isOpenHour: true, matches: (w) => w.minute % 15 === 0 },
  {
    cron: '30 * * 3,4,9-11 *',
    isOpenHour: true,
    matches: (w) => [3, 4, 9, 10, 11].includes(w.month) && w.minute === 30,
  },
]

/**
 * The oracle shares no code with what it judges: it parses no expression and uses neither offsets nor Intl. It walks the
 * database's local time in steps of five minutes. Where that jumps ahead, the skipped minutes are matched too, and stand
 * for the instant after the jump. A minute that was shown before is skipped, unless the expression leaves the hour open.
 */
function expectedOf(shown: Awaited<ReturnType<typeof quarters>>): Map<Case, number[]> {
  const found = new Map<Case, number[]>(cases.map((one) => [one, []]))
  let latest = ''
  let before: Wall | undefined
  for (const wall of minutes(shown)) {
    const isRepeat = wall.text <= latest
    const skipped = before !== undefined && shownAfter(before) < wall.text ? leftOut(before, wall) : []
    if (wall.ms >= from) {
      for (const [{ matches, isOpenHour }, times] of found) {
        if (!isOpenHour && skipped.some(matches)) times.push(wall.ms)
        else if (matches(wall) && (isOpenHour || !isRepeat)) times.push(wall.ms)
      }
    }
    if (!isRepeat) latest = wall.text
    before = wall
  }
  return found
}

function stepped(text: string): Date {
  return new Date(Date.parse(`${text.replace(' ', 'T')}:00Z`) + stepMinutes * minute)
}

function shownAfter({ text }: Wall): string {
  const next = Number(text.slice(14)) + stepMinutes
  if (next < 60) return `${text.slice(0, 14)}${String(next).padStart(2, '0')}`
  return stepped(text).toISOString().slice(0, 16).replace('T', ' ')
}

function leftOut(before: Wall, after: Wall): Omit<Wall, 'ms' | 'text'>[] {
  const left: Omit<Wall, 'ms' | 'text'>[] = []
  const end = Date.parse(`${after.text.replace(' ', 'T')}:00Z`)
  for (let at = stepped(before.text).getTime(); at < end; at += stepMinutes * minute) {
    const date = new Date(at)
    left.push({
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      weekday: date.getUTCDay(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
    })
  }
  return left
}

const changes = new Map<string, number>()

test.each(zones)(
  `in %s all fires from 2026 on, over ${years} years, match the local time of PostgreSQL`,
  async (timeZone) => {
    const shown = await quarters(timeZone)
    expect(shown).toHaveLength((until - from + 86_400_000) / (15 * minute))
    changes.set(timeZone, jumps(shown))
    for (const [{ cron }, expected] of expectedOf(shown)) {
      const rule = resolveRule({ cron, timeZone })
      const found = Array.from(occurrences(rule, from - 1, until - 1), ({ ms }) => ms)
      expect(found, cron).toEqual(expected)
      // The result is the same from any starting time.
      for (let index = 0; index + 1 < found.length; index += Math.ceil(found.length / 50))
        expect(firstOccurrences(rule, found[index] ?? 0, 1)[0]?.ms, cron).toBe(found[index + 1])
    }
  },
)

/** How often the local time does not advance by a quarter of an hour. */
function jumps(shown: Awaited<ReturnType<typeof quarters>>): number {
  const ms = shown.map(({ wall }) => Date.parse(`${wall.replace(' ', 'T')}:00Z`))
  return ms.filter((at, index) => index > 0 && at - (ms[index - 1] ?? 0) !== 15 * minute).length
}

test('the clocks of these zones change twice a year, or never', () => {
  expect(changes.size).toBe(zones.length)
  expect([...changes].filter(([, times]) => times !== 2 * years)).toEqual([['Asia/Kolkata', 0]])
})
