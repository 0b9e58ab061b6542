import { nextWall, parseCron } from './cron.ts'
import type { Cron } from './cron.ts'
import type { Rule } from './rule.ts'
import { nextChange, offsetAt } from './zone.ts'

/** One time that a rule names. */
export interface Occurrence {
  readonly ms: number
  /**
   * Whether a clock change moved it: `gap`, its time of day did not exist and it is at the first instant after;
   * `overlap`, its time of day came twice that day.
   */
  readonly shift: 'gap' | 'overlap' | undefined
}

/** More than any clock change. */
const marginMs = 2 * 86_400_000
/** Nothing is looked for further ahead than this. */
const horizonMs = 40 * 366 * 86_400_000

/** The times that a rule names after an instant, in order, to `untilMs` (included). */
export function* occurrences(rule: Rule, afterMs: number, untilMs = Infinity): Generator<Occurrence> {
  const { startsAtMs = -Infinity, endsAtMs = Infinity, spec } = rule
  const after = Math.max(afterMs, startsAtMs - 1)
  const until = Math.min(untilMs, endsAtMs)
  if (spec.type === 'at') {
    for (const ms of spec.atMs) if (ms > after && ms <= until) yield { ms, shift: undefined }
  } else if (spec.type === 'every') {
    // From one anchor for all: every process comes to the same times.
    const anchor = rule.startsAtMs ?? 0
    let count = Math.floor((after - anchor) / spec.everyMs) + 1
    for (let ms = anchor + count * spec.everyMs; ms <= until; ms = anchor + ++count * spec.everyMs)
      yield { ms, shift: undefined }
  } else yield* cronOccurrences(parseCron(spec.cron), rule.timeZone, { after, until })
}

/** The first n times after an instant. */
export function firstOccurrences(rule: Rule, afterMs: number, n: number): Occurrence[] {
  const found: Occurrence[] = []
  for (const occurrence of occurrences(rule, afterMs)) {
    if (found.length >= n) break
    found.push(occurrence)
  }
  return found
}

/** The next time after an instant; undefined where there is none any more. */
export function nextOccurrence(rule: Rule, afterMs: number): number | undefined {
  return firstOccurrences(rule, afterMs, 1)[0]?.ms
}

/**
 * The last n times in (after, until], in order. Looked for from a minute before the end, then further and further back:
 * a rule of every second that nobody kept for a year has thirty million.
 *
 * Each look ends after some more than n: a rule of every second in January has none in eleven months and then two million
 * at once. Where a look came upon too many, the next one begins between that one and the last that found too few.
 */
export function lastOccurrences(
  rule: Rule,
  { afterMs, untilMs, n }: { afterMs: number; untilMs: number; n: number },
): number[] {
  const most = 2 * n + 100
  let fromMs = Math.max(afterMs, untilMs - 60_000)
  let few = { fromMs: untilMs, found: [] as number[] }
  let manyFromMs: number | undefined
  for (let looks = 0; looks < mostLooks; looks++) {
    const found = firstOf(occurrences(rule, fromMs, untilMs), most)
    if (found.length === most) manyFromMs = fromMs
    else if (found.length >= n || fromMs === afterMs) return found.slice(-n)
    else few = { fromMs, found }
    fromMs =
      manyFromMs === undefined
        ? Math.max(afterMs, untilMs - 8 * (untilMs - fromMs))
        : Math.floor((manyFromMs + few.fromMs) / 2)
  }
  return few.found
}

/** Times of a rule are a second apart, or a thousand at most: far fewer looks than this halve a century down to one. */
const mostLooks = 100

function firstOf(times: Iterable<Occurrence>, most: number): number[] {
  const found: number[] = []
  for (const { ms } of times) {
    if (found.length === most) break
    found.push(ms)
  }
  return found
}

/**
 * Wall-clock times, segment by segment of a constant offset.
 *
 * An expression that names hours is about the wall clock: what falls into a gap comes at the first instant after it,
 * and what comes twice is done the first time. One whose hour is `*` says "every so many minutes", and follows the
 * clock as it runs: nothing to make up for in a gap, and in the hour that comes twice it fires as ever.
 */
function* cronOccurrences(
  cron: Cron,
  timeZone: string,
  { after, until }: { after: number; until: number },
): Generator<Occurrence> {
  const endMs = Math.min(until, after + horizonMs)
  // From a day before, so that the clock change that `after` may be just behind is seen.
  let fromMs = after - 86_400_000
  let offsetMs = offsetAt(timeZone, fromMs)
  /** Wall-clock times up to here have had their turn. */
  let doneWall = fromMs + offsetMs
  while (fromMs <= endMs) {
    const startWall = fromMs + offsetMs - 1
    // Beside what was done already: from where the caller wants to know.
    let wall = Math.max(after + offsetMs, cron.isEveryHour ? startWall : Math.max(doneWall, startWall))
    let next = nextWall(cron, wall)
    // Changes are looked for no further than the rule reaches: in most zones none comes for ever.
    let change = nextChange(timeZone, fromMs, Math.min(endMs, (next ?? Infinity) - offsetMs) + marginMs)
    while (next !== undefined && next - offsetMs < (change?.fromMs ?? Infinity)) {
      if (next - offsetMs > endMs) return
      const comesAgain = change !== undefined && next >= change.fromMs + change.offsetMs
      yield { ms: next - offsetMs, shift: comesAgain || next <= doneWall ? 'overlap' : undefined }
      wall = next
      next = nextWall(cron, wall)
      change ??= nextChange(timeZone, fromMs, Math.min(endMs, (next ?? Infinity) - offsetMs) + marginMs)
    }
    if (change === undefined) return
    const oldEndWall = change.fromMs + offsetMs
    const newStartWall = change.fromMs + change.offsetMs
    if (!cron.isEveryHour && newStartWall > oldEndWall && change.fromMs > after && change.fromMs <= endMs) {
      const skipped = nextWall(cron, oldEndWall - 1)
      // What is due at that instant anyway is yielded by the segment to come.
      if (skipped !== undefined && skipped < newStartWall) {
        yield { ms: change.fromMs, shift: 'gap' }
        doneWall = newStartWall
      } else doneWall = newStartWall - 1
    } else doneWall = Math.max(doneWall, oldEndWall - 1)
    fromMs = change.fromMs
    offsetMs = change.offsetMs
  }
}
