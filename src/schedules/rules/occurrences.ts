import { nextWall, parseCron } from './cron.ts'
import type { Cron } from './cron.ts'
import type { Rule } from './rule.ts'
import { nextChange, offsetAt } from './zone.ts'

/** One time at which a rule fires. */
export interface Occurrence {
  readonly ms: number
  /**
   * Set if a clock change affects it. `gap`: its time of day does not exist that day, so it is at the first instant after
   * the gap. `overlap`: its time of day exists twice that day.
   */
  readonly shift: 'gap' | 'overlap' | undefined
}

/** Larger than any clock change. */
const marginMs = 2 * 86_400_000
/** The search for times ends this far ahead. */
const horizonMs = 40 * 366 * 86_400_000

/** The times of a rule after an instant, in order, up to and including `untilMs`. */
export function* occurrences(rule: Rule, afterMs: number, untilMs = Infinity): Generator<Occurrence> {
  const { startsAtMs = -Infinity, endsAtMs = Infinity, spec } = rule
  const after = Math.max(afterMs, startsAtMs - 1)
  const until = Math.min(untilMs, endsAtMs)
  if (spec.type === 'at') {
    for (const ms of spec.atMs) if (ms > after && ms <= until) yield { ms, shift: undefined }
  } else if (spec.type === 'every') {
    // Counted from a fixed anchor, so that every process computes the same times.
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

/** The next time after an instant; undefined if there is none. */
export function nextOccurrence(rule: Rule, afterMs: number): number | undefined {
  return firstOccurrences(rule, afterMs, 1)[0]?.ms
}

/**
 * The last n times in (after, until], in order. The search begins a minute before the end, then further and further back:
 * a schedule that fires every second and was not fired for a year has thirty million times in that range.
 *
 * Each search stops soon after n times: a rule for every second of January has no time in eleven months and then two
 * million. After a search that found too many, the next one starts between its start and the start of the latest search
 * that found too few.
 */
export function lastOccurrences(
  rule: Rule,
  { afterMs, untilMs, n }: { afterMs: number; untilMs: number; n: number },
): number[] {
  const most = 2 * n + 100
  let fromMs = Math.max(afterMs, untilMs - 60_000)
  let few = { fromMs: untilMs, found: [] as number[] }
  let manyFromMs: number | undefined
  for (let searches = 0; searches < maxSearches; searches++) {
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

/** Either times are at least a second apart, or there are at most a thousand: halving a century to a second takes fewer. */
const maxSearches = 100

function firstOf(times: Iterable<Occurrence>, most: number): number[] {
  const found: number[] = []
  for (const { ms } of times) {
    if (found.length === most) break
    found.push(ms)
  }
  return found
}

/**
 * Wall-clock times, one segment of constant offset after the other.
 *
 * An expression that names hours follows the wall clock: a time inside a gap fires at the first instant after the gap, and
 * a time that exists twice fires the first time only. An expression whose hour is `*` means "every so many minutes" and
 * follows elapsed time: a gap needs no replacement, and in the repeated hour it fires as usual.
 */
function* cronOccurrences(
  cron: Cron,
  timeZone: string,
  { after, until }: { after: number; until: number },
): Generator<Occurrence> {
  const endMs = Math.min(until, after + horizonMs)
  // Begin a day earlier, to see a clock change that lies just before `after`.
  let fromMs = after - 86_400_000
  let offsetMs = offsetAt(timeZone, fromMs)
  /** Wall-clock times up to here are done. */
  let doneWall = fromMs + offsetMs
  while (fromMs <= endMs) {
    const startWall = fromMs + offsetMs - 1
    // Skip the times that are done, and those before the range of the caller.
    let wall = Math.max(after + offsetMs, cron.isEveryHour ? startWall : Math.max(doneWall, startWall))
    let next = nextWall(cron, wall)
    // Look for a clock change only until the next time of the rule: most zones have no future changes at all.
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
      // If the rule also names that first instant itself, the next segment yields it.
      if (skipped !== undefined && skipped < newStartWall) {
        yield { ms: change.fromMs, shift: 'gap' }
        doneWall = newStartWall
      } else doneWall = newStartWall - 1
    } else doneWall = Math.max(doneWall, oldEndWall - 1)
    fromMs = change.fromMs
    offsetMs = change.offsetMs
  }
}
