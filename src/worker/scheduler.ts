import { longestTimerMs } from '../core/duration.ts'
import { messageOf } from '../core/failures/thrown.ts'
import type { Database } from '../db/database.ts'
import type { Schedule } from '../schedules/rules/define-schedule.ts'
import { setSchedule } from '../schedules/set.ts'
import { tick } from '../schedules/fires/tick.ts'
import type { Loop } from './loop.ts'
import type { Announcer } from '../jobs/wake-up/announcer.ts'
import type { Events } from './report/events.ts'
import type { Logger } from './report/log.ts'
import type { Numbers } from './report/numbers.ts'
import { LoopPart, newLoop } from './part.ts'
import type { Troubles } from './watch/troubles.ts'

export interface SchedulerConfig {
  db: Database
  /** The schedules in the code of this process. */
  schedules: readonly Schedule[]
  appVersion: string | null
  events: Events
  log: Logger
  announcer: Pick<Announcer, 'stored' | 'askedToStop'>
  numbers: Pick<Numbers, 'fired'>
  troubles: Pick<Troubles, 'of'>
}

/** Jittered by a fifth, so at most 10 s: by then a pass finds fires that no notification announced. */
const pollEveryMs = 8_000

/** Fires all schedules: any worker does it, and several may do it at once. */
export class Scheduler extends LoopPart {
  readonly #config: SchedulerConfig
  readonly #loop: Loop
  readonly #mine = new Map<string, { schedule: Schedule; digest: string }>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #mustPollAgain = false

  constructor(config: SchedulerConfig) {
    const loop = newLoop(config.troubles, {
      name: 'schedules',
      everyMs: pollEveryMs,
      isEager: true,
      pass: () => this.#pass(),
    })
    super([loop])
    this.#config = config
    this.#loop = loop
  }

  /** Stores the schedules of this process as they are in its code. */
  async synchronise(db: Database): Promise<void> {
    const { schedules, appVersion } = this.#config
    for (const schedule of schedules) {
      const digest = await setSchedule(db, schedule, { source: 'code', appVersion })
      this.#mine.set(schedule.name, { schedule, digest })
    }
  }

  /** A fire may be due sooner than expected. */
  wake(): void {
    if (this.#isStopped) return
    // A pass that is under way may have read the schedules before the change.
    if (this.#loop.since !== undefined) this.#mustPollAgain = true
    else void this.#loop.runOnce()
  }

  /** Fires all schedules that are due now. */
  fireDue(): Promise<void> {
    return this.#loop.runOnce()
  }

  /** No further pass begins. */
  close(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  override async stop(): Promise<void> {
    this.close()
    await super.stop()
  }

  async #pass(): Promise<void> {
    const { db, events, log, announcer, numbers } = this.#config
    this.#mustPollAgain = false
    const { fired, failed, nextInMs } = await tick(db, this.#mine, () => {
      this.#loop.noteProgress()
    })
    for (const one of fired) {
      if (one.hints.length > 0) announcer.stored(new Set(one.hints))
      for (const workerId of one.asked) announcer.askedToStop(workerId)
      numbers.fired(one)
      if (one.fires.length > 0) events.emit('fired', one)
      for (const { outcome, fireAt, reason } of one.fires)
        if (outcome !== 'fired') log.warn({ schedule: one.schedule, fireAt, reason }, `a fire was ${outcome}`)
    }
    for (const one of failed) {
      events.emit('scheduleFailed', one)
      const error = messageOf(one.error)
      log.error({ schedule: one.schedule, error }, 'a schedule could not be fired')
    }
    this.#wakeIn(this.#isPollWanted() ? 0 : nextInMs)
  }

  #isPollWanted(): boolean {
    return this.#mustPollAgain
  }

  #wakeIn(ms: number | undefined): void {
    clearTimeout(this.#timer)
    if (ms === undefined || this.#isStopped) return
    this.#timer = setTimeout(
      () => {
        this.wake()
      },
      Math.min(longestTimerMs, Math.max(1, Math.ceil(ms))),
    )
    this.#timer.unref()
  }
}
