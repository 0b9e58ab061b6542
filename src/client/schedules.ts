import type { Duration } from '../core/duration.ts'
import { StintError } from '../core/errors.ts'
import {
  booleanOption,
  durationOption,
  integerOption,
  invalidOption,
  rejectUnknown,
} from '../core/options.ts'
import { nextId } from '../jobs/new/ids.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import type { Queryable } from '../db/statement.ts'
import { get } from '../jobs/get.ts'
import { askForFires } from '../schedules/fires/asked.ts'
import { deleteSchedule, fireByHand, pauseSchedule, resumeSchedule } from '../schedules/change.ts'
import type { MadeJob } from '../schedules/change.ts'
import { checkSchedule } from '../schedules/rules/checked.ts'
import { definitionOf } from '../schedules/rules/definition.ts'
import { asSchedule } from '../schedules/rules/define-schedule.ts'
import type { Schedule, ScheduleDefinition } from '../schedules/rules/define-schedule.ts'
import type { JobContract } from '../contracts/contract.ts'
import { firstOccurrences, nextOccurrence, occurrences } from '../schedules/rules/occurrences.ts'
import { firesWithin, getSchedule, listFires, listSchedules, recentFires } from '../schedules/read.ts'
import type { Fire, FoundSchedule, ScheduleDetails, ScheduleInfo } from '../schedules/read.ts'
import { instant } from '../schedules/rules/rule.ts'
import { setSchedule } from '../schedules/set.ts'
import { missingSchedule } from '../schedules/rules/stored.ts'
import { ownJob } from '../schedules/fires/tick.ts'
import type { Hint } from '../jobs/wake-up/hint.ts'
import type { Calls } from './calls.ts'

/** A time at which a schedule will fire. */
export interface NextFire {
  at: Date
  /** Set if a clock change affects it: it fires at the first instant after a `gap`, or at the first of two (`overlap`). */
  shift: 'gap' | 'overlap' | null
}

export interface BackfillOptions {
  /** The start of the range. */
  from: Date | string
  /** The end of the range, not in the future. */
  to: Date | string
  /** Return what would be done, and do nothing. @default false */
  dryRun?: boolean | undefined
}

export interface BackfilledFire {
  fireAt: Date
  /**
   * `fired`: a job is, or would be, stored. `asked`: the schedule's code makes the input, so a worker that has it stores the
   * job. `kept`: unchanged, because it fired, was asked for or was queued before.
   */
  action: 'fired' | 'asked' | 'kept'
  /** Its stored outcome before this call; null if there was none. */
  before: Fire['outcome'] | null
  jobId: string | null
}

export interface RanSchedule {
  jobId: string
  /** `asked`: code makes the input, so a worker that has the schedule's code stores this job. */
  action: 'fired' | 'asked'
}

const mostBackfilled = 1_000
const mostTries = 10

export interface SchedulesConfig {
  /** Called with the hints of new ready jobs. */
  onReady: (hints: readonly Hint[]) => void
  /** Called when the next fires may have changed. */
  onChanged: () => void
}

/** Rules that create jobs: `stint.schedules`. */
export class Schedules {
  readonly #calls: Calls
  readonly #config: SchedulesConfig

  constructor(calls: Calls, config: SchedulesConfig) {
    this.#calls = calls
    this.#config = config
  }

  /**
   * Stores a schedule, new or changed; a change counts from now on. If workers have a schedule of this name in their code,
   * the next such worker that starts stores its own definition again.
   */
  async set<Contract extends JobContract>(
    definition: Schedule | ScheduleDefinition<Contract>,
  ): Promise<ScheduleDetails> {
    const schedule = asSchedule(definition)
    if (schedule.makeInput !== undefined)
      throw invalidOption(
        'input',
        'a value: only a schedule in the code of workers can have a function as its input',
        schedule.makeInput,
      )
    await this.#calls.write((db) => setSchedule(db, schedule, { source: 'runtime', appVersion: null }))
    this.#config.onChanged()
    return (await this.#find(schedule.name)).details
  }

  /** One schedule, or undefined if there is none of this name. */
  async get(name: string): Promise<ScheduleDetails | undefined> {
    storedName('name', name)
    return (await this.#calls.send((db) => getSchedule(db, name)))?.details
  }

  /**
   * A stored schedule as an argument of `set()`, so that a caller without its code can change it and set it again.
   * Undefined if there is none, or the stored one is not valid. An input that code makes is left out.
   */
  async definition(name: string): Promise<ScheduleDefinition | undefined> {
    storedName('name', name)
    const found = await this.#calls.send((db) => getSchedule(db, name))
    return found === undefined || !isValid(found) ? undefined : definitionOf(found.row)
  }

  /** Schedules by name; pass the last name as `after` to get the next page. */
  async list(
    options: { after?: string | undefined; limit?: number | undefined } = {},
  ): Promise<ScheduleInfo[]> {
    const { after = '', limit = 200, ...rest } = options
    rejectUnknown('schedules.list', rest, ['after', 'limit'])
    const request = { after, limit: integerOption('limit', limit, { min: 1, max: 1_000 }) }
    return this.#calls.send((db) => listSchedules(db, request))
  }

  /** Stops its fires until a time, or until it is resumed. Times during the pause do not fire later. */
  async pause(
    name: string,
    options: {
      until?: Date | string | undefined
      for?: Duration | undefined
      reason?: string | undefined
    } = {},
  ): Promise<ScheduleDetails> {
    const { until, for: span, reason, ...rest } = options
    rejectUnknown('schedules.pause', rest, ['until', 'for', 'reason'])
    if (until !== undefined && span !== undefined)
      throw invalidOption('until', 'left out if `for` is given', until)
    const untilMs = until === undefined ? undefined : instant('until', until)
    const spanMs = span === undefined ? undefined : durationOption('for', span, { minMs: 1 })
    const said = keyText('reason', reason, 2_000) ?? null
    return this.#change(name, (db, { row, turn, nowMs }) => {
      const endMs = untilMs ?? (spanMs === undefined ? undefined : nowMs + spanMs)
      const next = endMs === undefined ? undefined : nextOccurrence(checkSchedule(row).schedule.rule, endMs)
      return pauseSchedule(db, { name, turn, until: iso(endMs), reason: said, nextFireAt: iso(next) })
    })
  }

  /** Ends the pause of a schedule: it fires again from now on. Does nothing if it is not paused. */
  async resume(name: string): Promise<ScheduleDetails> {
    return this.#change(name, (db, { row, turn, nowMs, details }) => {
      if (!details.isPaused) return Promise.resolve(true)
      const nextFireAt = iso(nextOccurrence(checkSchedule(row).schedule.rule, nowMs))
      return resumeSchedule(db, { name, turn, decidedTo: new Date(nowMs).toISOString(), nextFireAt })
    })
  }

  /**
   * Stores a job of it now, regardless of its rule, its pause and its overlap policy. If code makes the input: pass the
   * schedule itself to make it here, or its name to have a worker that has its code make it.
   */
  async runNow(schedule: string | Schedule): Promise<RanSchedule> {
    const found = await this.#find(nameOf(schedule))
    checkSchedule(found.row)
    const jobId = nextId()
    const action = isAskedFor(found, schedule) ? 'asked' : 'fired'
    const own = action === 'asked' ? '' : await ownOf(found, schedule, found.nowMs)
    const times = `[{"jobId":"${jobId}"${own}}]`
    const request = { name: found.details.name, times, reason: 'run now' }
    // If two calls come at the same instant, one of them fires a moment later.
    for (let tries = 0; tries < mostTries; tries++) {
      if (action === 'asked') {
        if ((await this.#ask(request, [jobId])).length > 0) return { jobId, action }
        continue
      }
      const options = { jobIds: [jobId], isDone: (jobs: readonly MadeJob[]) => jobs.length > 0 }
      const made = await this.#calls.write((db) => fireByHand(db, request), options)
      this.#ready(found, made)
      if (made.length > 0 || (await this.#calls.send((db) => get(db, jobId))) !== undefined)
        return { jobId, action }
    }
    return missingSchedule(found.details.name)
  }

  /** Deletes a schedule and its fires; its jobs stay. Refuses a schedule that live workers have in their code. */
  async delete(name: string): Promise<void> {
    storedName('name', name)
    for (;;) {
      const found = await this.#calls.send((db) => getSchedule(db, name))
      if (found === undefined) return missingSchedule(name)
      const { source, isOrphan } = found.details
      if (source === 'code' && !isOrphan)
        throw new StintError(
          'state-changed',
          `The schedule '${name}' is in the code of live workers: remove it there, or pause it.`,
        )
      const isDone = await this.#calls.write(
        async (db, isRepeat) => {
          if (await deleteSchedule(db, { name, turn: found.turn })) return true
          return isRepeat && (await getSchedule(db, name)) === undefined
        },
        { isDone: Boolean },
      )
      if (!isDone) continue
      this.#config.onChanged()
      return
    }
  }

  /**
   * The next times of a stored schedule, or of a definition; at most 1,000. They do not include jitter. Empty if the stored
   * schedule is not valid, since it does not fire.
   */
  async next(schedule: string | Schedule | ScheduleDefinition, n = 5): Promise<NextFire[]> {
    integerOption('n', n, { min: 1, max: 1_000 })
    const found = typeof schedule === 'string' ? await this.#find(schedule) : undefined
    if (found !== undefined && !isValid(found)) return []
    const { rule } =
      found === undefined ? asSchedule(schedule as Schedule) : checkSchedule(found.row).schedule
    const paused = found?.details
    if (paused?.isPaused === true && paused.pausedUntil === null) return []
    const after = Math.max(found?.nowMs ?? Date.now(), paused?.pausedUntil?.getTime() ?? 0)
    return firstOccurrences(rule, after, n).map(({ ms, shift }) => ({
      at: new Date(ms),
      shift: shift ?? null,
    }))
  }

  /** Its past times and their outcomes, latest first. */
  async fires(
    name: string,
    options: { limit?: number | undefined; before?: Date | string | undefined } = {},
  ): Promise<Fire[]> {
    storedName('name', name)
    const { limit = 20, before, ...rest } = options
    rejectUnknown('schedules.fires', rest, ['limit', 'before'])
    const request = {
      name,
      limit: integerOption('limit', limit, { min: 1, max: 1_000 }),
      before: before === undefined ? 'infinity' : new Date(instant('before', before)).toISOString(),
    }
    return this.#calls.send((db) => listFires(db, request))
  }

  /** The last fires of several schedules, by name, latest first; at most 200 schedules. */
  async recent(
    names: readonly string[],
    { limit = 20 }: { limit?: number | undefined } = {},
  ): Promise<Map<string, Fire[]>> {
    if (names.length > 200) throw invalidOption('names', 'at most 200 names', names.length)
    const request = {
      names: names.map((name) => storedName('names', name)),
      limit: integerOption('limit', limit, { min: 1, max: 100 }),
    }
    return this.#calls.send((db) => recentFires(db, request))
  }

  /**
   * Fires the times of a range that were missed or skipped, or that came before the schedule existed. A time that fired
   * does not fire again, so a range whose fires were pruned (`keepFires`) is refused. At most 1,000 times; try `dryRun`
   * first. If code makes the input: pass the schedule itself to make it here, or its name to have a worker that has its
   * code make it.
   */
  async backfill(
    schedule: string | Schedule,
    { from, to, dryRun = false, ...rest }: BackfillOptions,
  ): Promise<BackfilledFire[]> {
    rejectUnknown('schedules.backfill', rest, ['from', 'to', 'dryRun'])
    booleanOption('dryRun', dryRun)
    const name = nameOf(schedule)
    const [fromMs, toMs] = [instant('from', from), instant('to', to)]
    const found = await this.#find(name)
    if (toMs < fromMs || toMs > found.nowMs)
      throw invalidOption('to', 'later than `from`, and not in the future', to)
    const { forgotten_to: forgottenTo } = found.row
    if (forgottenTo !== null && fromMs <= forgottenTo.getTime())
      throw invalidOption(
        'from',
        `later than ${forgottenTo.toISOString()}: the record of earlier fires was pruned (\`keepFires\`)`,
        from,
      )
    const times: number[] = []
    for (const { ms } of occurrences(checkSchedule(found.row).schedule.rule, fromMs - 1, toMs)) {
      if (times.length === mostBackfilled)
        throw invalidOption('to', `such that the range has at most ${mostBackfilled} fires`, to)
      times.push(ms)
    }
    const range = { name, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
    const noted = await this.#calls.send((db) => firesWithin(db, range))
    const before = new Map(noted.map((fire) => [fire.fireAt.getTime(), fire]))
    const action = isAskedFor(found, schedule) ? 'asked' : 'fired'
    const plan = times.map((ms): BackfilledFire => {
      const fire = before.get(ms)
      const isOpen = fire === undefined || fire.outcome === 'missed' || fire.outcome === 'skipped'
      const said = { fireAt: new Date(ms), before: fire?.outcome ?? null }
      return isOpen
        ? { ...said, action, jobId: dryRun ? null : nextId() }
        : { ...said, action: 'kept', jobId: fire.jobId }
    })
    if (dryRun) return plan
    const done = new Set(await this.#fireAll(found, schedule, plan))
    // A tick of a worker may have decided some of the times in between.
    const after = await this.#calls.send((db) => firesWithin(db, range))
    const stored = new Map(after.map((fire) => [fire.fireAt.getTime(), fire.jobId]))
    return plan.map((one) => {
      const jobId = stored.get(one.fireAt.getTime()) ?? null
      return jobId === one.jobId || done.has(one.jobId) ? one : { ...one, action: 'kept', jobId }
    })
  }

  /** Returns the ids of the jobs that it stored or asked for; some are missing if a reply was lost. */
  async #fireAll(
    found: FoundSchedule,
    schedule: string | Schedule,
    plan: BackfilledFire[],
  ): Promise<(string | null)[]> {
    const entries: string[] = []
    for (const { action, jobId, fireAt } of plan) {
      if (action === 'kept') continue
      const own = action === 'asked' ? '' : await ownOf(found, schedule, fireAt.getTime())
      entries.push(`{"jobId":"${jobId}","fireAt":"${fireAt.toISOString()}"${own}}`)
    }
    const { name } = found.details
    const ids = plan.flatMap(({ action, jobId }) => (action !== 'kept' && jobId !== null ? [jobId] : []))
    const request = { name, times: `[${entries.join(',')}]`, reason: 'backfill' }
    if (isAskedFor(found, schedule)) return this.#ask(request, ids)
    const made = await this.#calls.write((db) => fireByHand(db, request), { jobIds: ids })
    this.#ready(found, made)
    return made.map(({ id }) => id)
  }

  async #ask(request: Parameters<typeof askForFires>[1], jobIds: readonly string[]): Promise<string[]> {
    const isDone = (ids: readonly string[]): boolean => ids.length > 0
    const ids = await this.#calls.write((db) => askForFires(db, request), { jobIds, isDone })
    this.#config.onChanged()
    return ids
  }

  #ready({ details }: FoundSchedule, made: readonly MadeJob[]): void {
    const hints = made.map(({ priority, keyed }) => ({ queue: details.queue, priority, keyed, inMs: 0 }))
    if (hints.length > 0) this.#config.onReady(hints)
  }

  async #find(name: string): Promise<FoundSchedule> {
    storedName('name', name)
    return (await this.#calls.send((db) => getSchedule(db, name))) ?? missingSchedule(name)
  }

  /** Reads the schedule and changes it, again if another process changed it in between; a tick is short. */
  async #change(
    name: string,
    change: (db: Queryable, found: FoundSchedule) => Promise<boolean>,
  ): Promise<ScheduleDetails> {
    for (;;) {
      const found = await this.#find(name)
      if (await this.#calls.write((db) => change(db, found), { isDone: Boolean })) break
    }
    this.#config.onChanged()
    return (await this.#find(name)).details
  }
}

/** Accepts any string that a row can have as its name: a schedule with an invalid name can be read and deleted too. */
function storedName(option: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 10_000 && !value.includes('\0')) return value
  throw invalidOption(option, 'the name of a schedule', value)
}

function isValid({ row }: FoundSchedule): boolean {
  try {
    checkSchedule(row)
    return true
  } catch {
    return false
  }
}

function nameOf(schedule: string | Schedule): string {
  return typeof schedule === 'string' ? schedule : schedule.name
}

/** Whether code makes its input, but the caller passed only the name. */
function isAskedFor({ details }: FoundSchedule, schedule: string | Schedule): boolean {
  return details.inputFromCode && typeof schedule === 'string'
}

/** The job and input that the schedule's code makes for one time; empty if code makes none. */
async function ownOf({ details }: FoundSchedule, schedule: string | Schedule, ms: number): Promise<string> {
  return details.inputFromCode && typeof schedule !== 'string' ? ownJob(details.name, schedule, ms) : ''
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
