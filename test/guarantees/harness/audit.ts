import { setTimeout as pause } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'
import { monotonicMs } from '../../support/ledger.ts'
import type { Ledger, Line } from '../../support/ledger.ts'

interface EndRow extends Record<string, unknown> {
  id: string
  place: 'live' | 'finished' | 'dead'
  n: number
  state: string
  attempt: number
  crashes: number
  epoch: number
  lease: string | null
}

/** The comparison of ledger and database, made when no job is left to run. */
export interface Audit {
  /** Acknowledged, and neither live, finished nor dead. */
  lost: number
  /** Still waiting or running, long after everything else has ended. */
  stuck: number
  /** Stored without a producer's intent, or one intent stored twice. */
  phantom: number
  /** A job whose ctx.tx effect was committed more than once. */
  doubleCommitted: number
  /** Succeeded in ctx.tx, and its effect is not there. */
  effectLost: number
  /** An ending or an effect was accepted under a lease that was not the job's newest. */
  staleAccepted: number
  facts: {
    intents: number
    acknowledged: number
    finished: number
    dead: number
    starts: number
    /** Runs beyond the first, per job that was run. */
    duplicateRunRate: number
    /** Counted attempts beyond the first of each job. */
    burnedAttempts: number
    crashes: number
  }
}

/**
 * Compares all rows of the database with all lines of the ledger. Call `untilQuiet` first. Prints what is known of jobs that
 * burned attempts, unless they may.
 */
export async function audit(
  db: TestDatabase,
  ledger: Ledger,
  { mayBurn = false }: { mayBurn?: boolean } = {},
): Promise<Audit> {
  const rows = await db.query<EndRow>(
    `select id, 'live' as place, (input ->> 'n')::integer as n, state::text, attempt, crashes, epoch, lease_id as lease
       from stint.job
     union all
     select id, 'finished', (input ->> 'n')::integer, state::text, attempt, crashes, epoch, lease_id from stint.finished
     union all
     select id, 'dead', (input ->> 'n')::integer, 'dead', attempt, crashes, epoch, lease_id from stint.dead`,
  )
  const effects = await db.query<{ job: string; lease: string | null; times: number }>(
    'select job, lease, count(*)::integer as times from effect group by 1, 2',
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  const starts = ledger.lines({ type: 'start' })
  const newest = newestStarts(starts)
  const intents = new Set(ledger.lines({ type: 'intent' }).map(({ n }) => n))
  const acknowledged = ledger.lines({ type: 'ack' })
  const inTx = new Set(ledger.lines({ type: 'effect' }).map((line) => line.job))
  const effectsOf = new Map<string, number>()
  for (const { job, times } of effects) effectsOf.set(job, (effectsOf.get(job) ?? 0) + times)
  const succeeded = rows.filter(({ state }) => state === 'succeeded')
  const numbers = rows.map(({ n }) => n)
  const started = new Set(starts.map(({ job }) => job))
  const burned = rows.filter(({ attempt }) => attempt > 1)
  if (!mayBurn) await tellStories(db, { ledger, ids: burned.map(({ id }) => id) })
  return {
    lost: acknowledged.filter(({ job }) => !byId.has(job ?? '')).length,
    stuck: rows.filter(({ place }) => place === 'live').length,
    phantom: numbers.filter((n) => !intents.has(n)).length + (numbers.length - new Set(numbers).size),
    doubleCommitted: [...effectsOf.values()].filter((times) => times > 1).length,
    effectLost: succeeded.filter(({ id }) => inTx.has(id) && !effectsOf.has(id)).length,
    staleAccepted:
      succeeded.filter(({ id, epoch, lease }) => !isNewest(newest.get(id), { epoch, lease })).length +
      effects.filter(({ job, lease }) => byId.get(job)?.lease !== lease).length,
    facts: {
      intents: intents.size,
      acknowledged: acknowledged.length,
      finished: rows.filter(({ place }) => place === 'finished').length,
      dead: rows.filter(({ place }) => place === 'dead').length,
      starts: starts.length,
      duplicateRunRate: started.size === 0 ? 0 : (starts.length - started.size) / started.size,
      burnedAttempts: burned.reduce((sum, { attempt }) => sum + attempt - 1, 0),
      crashes: rows.reduce((sum, { crashes }) => sum + crashes, 0),
    },
  }
}

/** Prints what ledger and database know of a few jobs: a verdict alone does not show its cause. */
export async function tellStories(
  db: TestDatabase,
  { ledger, ids }: { ledger: Ledger; ids: readonly string[] },
): Promise<void> {
  for (const id of ids.slice(0, 3)) {
    const attempts = await db.query('select * from stint.attempt where job_id = $1 order by epoch', [id])
    const story = [...ledger.lines({ job: id }), ...attempts]
    process.stdout.write(`${story.map((one) => JSON.stringify(one)).join('\n')}\n\n`)
  }
}

function newestStarts(starts: readonly Line[]): Map<string, Line> {
  const newest = new Map<string, Line>()
  for (const line of starts) {
    const job = line.job ?? ''
    if ((newest.get(job)?.epoch ?? 0) < (line.epoch ?? 0)) newest.set(job, line)
  }
  return newest
}

function isNewest(
  start: Line | undefined,
  { epoch, lease }: { epoch: number; lease: string | null },
): boolean {
  return start?.epoch === epoch && start.token === lease
}

/** The verdicts of an audit, as an experiment reports them. */
export function verdictsOf(found: Audit): Record<string, number> {
  const { lost, stuck, phantom, doubleCommitted, effectLost, staleAccepted } = found
  return { lost, stuck, phantom, doubleCommitted, effectLost, staleAccepted }
}

/** How long nothing may change before the remaining jobs count as stuck: many leases and sweeps of any experiment. */
const standstillMs = 30_000

/** Waits until no job is left in the live table, or nothing has changed there for `standstillMs`. */
export async function untilQuiet(db: TestDatabase): Promise<void> {
  let seen = ''
  let since = monotonicMs()
  for (;;) {
    const [row] = await db.query<{ jobs: number; epochs: number }>(
      'select count(*)::integer as jobs, coalesce(sum(epoch), 0)::integer as epochs from stint.job',
    )
    if (row?.jobs === 0) return
    const now = JSON.stringify(row)
    if (now !== seen) {
      seen = now
      since = monotonicMs()
    } else if (monotonicMs() - since > standstillMs) return
    await pause(100)
  }
}

/**
 * How long each job of a killed worker waited for its next start, in milliseconds from the kill. Jobs that had been
 * committed before the kill are left out.
 */
export function recoveries(ledger: Ledger): number[] {
  const kills = ledger.lines({ type: 'kill' })
  const startsOf = new Map<string, Line[]>()
  for (const start of ledger.lines({ type: 'start' })) {
    const job = start.job ?? ''
    startsOf.set(job, [...(startsOf.get(job) ?? []), start])
  }
  const ended = endedRuns(ledger)
  const all = [...startsOf.values()].flat()
  return kills.flatMap(({ worker, at }) =>
    all
      .filter((start) => start.worker === worker && start.at <= at && !ended.has(runOf(start)))
      .flatMap((start) => {
        const next = (startsOf.get(start.job ?? '') ?? []).find((other) => other.at > at)
        return next === undefined ? [] : [next.at - at]
      }),
  )
}

/** Identifies the run of a line. The job is part of it, because the jobs of one claim share a lease. */
export function runOf({ token, job }: Line): string {
  return `${token} ${job}`
}

/** The runs that have ended so far. */
export function endedRuns(ledger: Ledger): Set<string> {
  return new Set(ledger.lines({ type: 'end' }).map(runOf))
}

/** The value below which this share of all values lies. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
