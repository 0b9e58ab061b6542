import { isPerhapsOneRow } from '../../db/classify.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { cleanText } from '../../core/json/storable.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { nextId } from '../../jobs/new/ids.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import { failAsked, fireAsked } from './asked.ts'
import type { AskedFire } from './asked.ts'
import { checkSchedule } from '../rules/checked.ts'
import type { Schedule } from '../rules/define-schedule.ts'
import { dueSql } from './due.sql.ts'
import { failSql } from './fail.sql.ts'
import { fireSql } from './fire.sql.ts'
import { decide } from './missed.ts'
import { nextOccurrence } from '../rules/occurrences.ts'
import { instant } from '../rules/rule.ts'
import { missingSchedule, runAtMs, scheduledJob } from '../rules/stored.ts'
import type { ScheduleRow } from '../rules/stored.ts'

/**
 * The result of firing one due schedule in a tick. Every worker that fires schedules runs ticks.
 *
 * There is no leader: several workers may read the same schedule and compute the same times. One statement stores fires
 * and jobs, and `turn` lets only the first worker's statement write; the primary key of stint.fire guarantees one job per
 * time. A worker that dies leaves either nothing or all of a fire.
 */
export interface Fired {
  schedule: string
  queue: string
  kind: string
  fires: readonly { fireAt: string; outcome: string; jobId: string | null; reason: string | null }[]
  hints: readonly { queue: string; priority: number; keyed: boolean; inMs: number }[]
  /** Ids of the workers that run a job which the overlap policy cancels. */
  asked: readonly string[]
}

export interface Tick {
  fired: Fired[]
  failed: { schedule: string; error: unknown }[]
  /** Until the next schedule is due; undefined if none will be. */
  nextInMs: number | undefined
}

interface Mine {
  readonly schedule: Schedule
  readonly digest: string
}

const dueLimit = 100
/** How long one tick makes asked fires: then it reads the due schedules again, so that a backfill does not delay them. */
const maxAskedMs = 1_000
const inputDeadlineMs = 10_000

/**
 * Fires the due schedules once. `onTurn` is called for each fire, as a sign of life: with many schedules whose code is
 * slow, a tick takes minutes.
 */
export async function tick(
  db: Queryable,
  mine: ReadonlyMap<string, Mine>,
  onTurn: () => void = () => undefined,
): Promise<Tick> {
  const names = [...mine].map(([name, { digest }]) => `${name} ${digest}`)
  const [look] = await run(
    db,
    dueSql,
    { mine: names, limit: dueLimit },
    (row: { now: number; nextInMs: number | null; due: DueSchedule[]; asked: AskedFire[] }) => row,
  )
  if (look === undefined) return { fired: [], failed: [], nextInMs: undefined }
  const result: Tick = { fired: [], failed: [], nextInMs: look.nextInMs ?? undefined }
  // In random order, so that the processes do not all try the same row first.
  for (const row of shuffled(look.due)) {
    const schedule = mine.get(row.name)?.schedule
    const outcome = await fireOne(db, row, { nowMs: look.now, schedule, onTurn })
    if ('fired' in outcome) {
      if (outcome.fired !== undefined) result.fired.push(outcome.fired)
      continue
    }
    result.failed.push({ schedule: row.name, error: outcome.error })
    await holdBack(db, row, outcome.error)
  }
  if (look.due.length === dueLimit || (await makeAsked(db, look.asked, { mine, onTurn, result })))
    result.nextInMs = 0
  return result
}

/** Makes the jobs of asked fires; returns whether there may be more. */
async function makeAsked(
  db: Queryable,
  asked: readonly AskedFire[],
  { mine, onTurn, result }: { mine: ReadonlyMap<string, Mine>; onTurn: () => void; result: Tick },
): Promise<boolean> {
  const untilMs = performance.now() + maxAskedMs
  for (const fire of shuffled(asked)) {
    if (performance.now() > untilMs) return true
    onTurn()
    const outcome = await makeOne(db, fire, mine.get(fire.name)?.schedule)
    if ('error' in outcome) {
      result.failed.push({ schedule: fire.name, error: outcome.error })
      await failAsked(db, fire, outcome.error)
    } else if (outcome.fired !== undefined) result.fired.push(outcome.fired)
  }
  return asked.length === dueLimit
}

/** Like fireOne(): returns an error that concerns only this fire, and throws one that concerns the whole database. */
async function makeOne(
  db: Queryable,
  fire: AskedFire,
  schedule: Schedule | undefined,
): Promise<{ fired: Fired | undefined } | { error: unknown }> {
  const { name, fire_at: fireAt, job_id: jobId } = fire
  let own = ''
  try {
    const ms = instant('fire_at', fireAt)
    if (fire.input_from_code) own = await ownJob(name, schedule, ms)
  } catch (error) {
    return { error }
  }
  try {
    const made = await fireAsked(db, fire, `{${own.slice(1)}}`)
    if (made === undefined) return { fired: undefined }
    const { queue, kind, reason, priority, keyed } = made
    return {
      fired: {
        schedule: name,
        queue,
        kind,
        asked: [],
        fires: [{ fireAt, outcome: 'fired', jobId, reason }],
        hints: [{ queue, priority, keyed, inMs: 0 }],
      },
    }
  } catch (error) {
    if (!isPerhapsOneRow(error)) throw error
    return { error }
  }
}

/** A schedule with a fire to decide. */
interface DueSchedule extends ScheduleRow {
  /** As text: a JavaScript number cannot hold every bigint. */
  turn: string
}

/** Stores why a schedule could not be fired and when to try again, later each time, so that it does not delay the others. */
async function holdBack(db: Queryable, { name, turn }: DueSchedule, error: unknown): Promise<void> {
  try {
    await run(db, failSql, { name, turn, error: cleanText(messageOf(error), 2_000) }, () => undefined)
  } catch (failure) {
    // Even the reason cannot be stored in this row. The next tick fails for it again; the other schedules go on.
    if (!isPerhapsOneRow(failure)) throw failure
  }
}

interface Look {
  nowMs: number
  schedule: Schedule | undefined
  onTurn: () => void
}

/** Returns an error that concerns only this schedule, and throws one that concerns the whole database. */
async function fireOne(
  db: Queryable,
  row: DueSchedule,
  look: Look,
): Promise<{ fired: Fired | undefined } | { error: unknown }> {
  let decision: Decision
  look.onTurn()
  try {
    decision = await decisionOf(row, look)
  } catch (error) {
    // No statement of Stint was sent, so the error comes from the schedule's own code, even if it looks like one of the
    // database.
    return { error }
  }
  try {
    return { fired: await store(db, row, decision) }
  } catch (error) {
    if (!isPerhapsOneRow(error)) throw error
    return { error }
  }
}

/** The due times and their outcomes, as parameters of fire.sql. */
interface Decision {
  times: string
  decidedTo: string
  nextFireAt: string | null
}

async function decisionOf(row: DueSchedule, { nowMs, schedule, onTurn }: Look): Promise<Decision> {
  const { schedule: stored, decidedToMs, queuedMs } = checkSchedule(row)
  const { rule, missed, jitterMs } = stored
  const decided = decide(rule, missed, { decidedToMs, nowMs })
  if (queuedMs !== undefined)
    decided.unshift({ ms: queuedMs, isMissed: false, reason: 'it waited for the previous job to end' })
  const times: string[] = []
  for (const { ms, isMissed, reason } of decided) {
    const runAt = new Date(runAtMs(row.name, ms, jitterMs)).toISOString()
    const time = { fireAt: new Date(ms).toISOString(), runAt, jobId: nextId(), missed: isMissed, reason }
    const own = row.input_from_code && !isMissed ? await ownJob(row.name, schedule, ms) : ''
    times.push(`${JSON.stringify(time).slice(0, -1)}${own}}`)
    onTurn()
  }
  const next = nextOccurrence(rule, Math.max(nowMs, decidedToMs))
  return {
    times: `[${times.join(',')}]`,
    decidedTo: new Date(nowMs).toISOString(),
    nextFireAt: next === undefined ? null : new Date(next).toISOString(),
  }
}

async function store(db: Queryable, row: DueSchedule, decision: Decision): Promise<Fired | undefined> {
  const [done] = await withPartitions(db, () =>
    run(
      db,
      fireSql,
      { name: row.name, turn: row.turn, ...decision },
      (stored: {
        queue: string
        fires: Fired['fires']
        jobs: Omit<Fired['hints'][number], 'queue'>[]
        asked: string[]
      }) => stored,
    ),
  )
  if (done === undefined) return undefined
  const { queue, fires, jobs, asked } = done
  return {
    schedule: row.name,
    queue,
    kind: row.kind,
    fires,
    hints: jobs.map((job) => ({ queue, ...job })),
    asked,
  }
}

/** The job and input that the schedule's code makes for one time, as further JSON members of that time. */
export async function ownJob(name: string, schedule: Schedule | undefined, ms: number): Promise<string> {
  if (schedule?.makeInput === undefined) return missingSchedule(name)
  const input = await within(inputDeadlineMs, schedule.makeInput(new Date(ms)))
  const made = await scheduledJob(schedule, input)
  return `,"job":${JSON.stringify(made.job)},"input":${made.input}`
}

/** Limits the wait for a user's function: one that never resolves must not stop the other schedules. */
async function within<Value>(ms: number, value: Value): Promise<Awaited<Value>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the function that makes its input did not resolve within ${ms / 1_000} s`))
    }, ms)
    timer.unref()
  })
  try {
    return await Promise.race([value, late])
  } finally {
    clearTimeout(timer)
  }
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
