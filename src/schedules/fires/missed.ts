import type { Schedule } from '../rules/define-schedule.ts'
import { lastOccurrences, nextOccurrence } from '../rules/occurrences.ts'
import type { Rule } from '../rules/rule.ts'

/** One time of a schedule that has come, and whether a job is made for it. */
export interface Decided {
  readonly ms: number
  readonly isMissed: boolean
  readonly reason: string | undefined
}

/** A fire that is decided within this long of its time is on time: a deployment takes as long. */
export const onTimeMs = 60_000
/** Missed fires that are noted one by one; of more, the earliest stands for all. */
const notedOneByOne = 100

/**
 * What becomes of the times in (decidedTo, now]: those on time fire, of the others as many as the policy says. A time
 * outside the window never does.
 */
export function decide(
  rule: Rule,
  { policy, limit, windowMs }: Schedule['missed'],
  { decidedToMs, nowMs }: { decidedToMs: number; nowMs: number },
): Decided[] {
  const lateToMs = Math.max(decidedToMs, nowMs - onTimeMs)
  const onTime = lastOccurrences(rule, { afterMs: lateToMs, untilMs: nowMs, n: 1_000 })
  const most = Math.max(notedOneByOne, limit) + 1
  const late = lastOccurrences(rule, { afterMs: decidedToMs, untilMs: lateToMs, n: most })
  const [first] = late
  if (first === undefined) return onTime.map((ms) => ({ ms, isMissed: false, reason: undefined }))
  const reason = `nobody fired it from ${iso(first)} to ${iso(nowMs)}`
  const wanted = policy === 'all' ? limit : policy === 'once' && onTime.length === 0 ? 1 : 0
  const inWindow = late.filter((ms) => ms >= nowMs - windowMs)
  const made = new Set(wanted === 0 ? [] : inWindow.slice(-wanted))
  const decided: Decided[] = late.map((ms) => ({
    ms,
    isMissed: !made.has(ms),
    reason: made.has(ms) ? `late: ${reason}` : reason,
  }))
  const earliest = nextOccurrence(rule, decidedToMs)
  if (late.length === most && earliest !== undefined && earliest < first)
    decided.unshift({
      ms: earliest,
      isMissed: true,
      reason: `nobody fired it from ${iso(earliest)} to ${iso(nowMs)}; those before ${iso(first)} are not noted one by one`,
    })
  return [...decided, ...onTime.map((ms) => ({ ms, isMissed: false, reason: undefined }))]
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
