import type { Schedule } from '../rules/define-schedule.ts'
import { lastOccurrences, nextOccurrence } from '../rules/occurrences.ts'
import type { Rule } from '../rules/rule.ts'

/** A due time of a schedule, and whether it gets a job. */
export interface Decided {
  readonly ms: number
  readonly isMissed: boolean
  readonly reason: string | undefined
}

/** A fire that is decided within this long after its time is on time: a deployment can take this long. */
export const onTimeMs = 60_000
/** Missed fires that get a row each; if there are more, the row of the earliest one mentions the rest. */
const maxMissedRows = 100

/**
 * Decides the times in (decidedTo, now]: those on time fire; of the late ones, as many fire as the policy says. A late
 * time outside the window never fires.
 */
export function decide(
  rule: Rule,
  { policy, limit, windowMs }: Schedule['missed'],
  { decidedToMs, nowMs }: { decidedToMs: number; nowMs: number },
): Decided[] {
  const lateToMs = Math.max(decidedToMs, nowMs - onTimeMs)
  const onTime = lastOccurrences(rule, { afterMs: lateToMs, untilMs: nowMs, n: 1_000 })
  const most = Math.max(maxMissedRows, limit) + 1
  const late = lastOccurrences(rule, { afterMs: decidedToMs, untilMs: lateToMs, n: most })
  const [first] = late
  if (first === undefined) return onTime.map((ms) => ({ ms, isMissed: false, reason: undefined }))
  const reason = `no worker fired it from ${iso(first)} to ${iso(nowMs)}`
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
      reason: `no worker fired it from ${iso(earliest)} to ${iso(nowMs)}; fires between this one and ${iso(first)} have no row of their own`,
    })
  return [...decided, ...onTime.map((ms) => ({ ms, isMissed: false, reason: undefined }))]
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
