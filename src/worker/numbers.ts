import { createHash } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { TimeReader } from '../numbers/clock.ts'
import { ErrorWriter } from '../numbers/write-errors.ts'
import { StatWriter } from '../numbers/write-stats.ts'
import type { Swept } from '../maintenance/sweep.ts'
import type { Fired } from '../schedules/tick.ts'
import { Loop } from '../upkeep/loop.ts'
import type { Events } from './events.ts'
import type { HeldJob } from './held-job.ts'
import type { Logger } from './log.ts'
import type { Ended } from './settle.ts'

export interface NumbersConfig {
  db: Database
  /** Under which it writes: its id when it started, although it may get another one. */
  process: string
  version: string | null
  events: Events
  log: Logger
  /** Told, and no more: jobs go on, and what could not be written is kept for the next time. */
  onTrouble: (name: string, error: unknown) => void
}

const statsEveryMs = 10_000
const errorsEveryMs = 3_000

/**
 * Counts what this worker does, and writes it down every few seconds, where there is something to write.
 *
 * Nothing else depends on it: where the database refuses a number, that is logged and jobs go on. What a process has not
 * written when it is killed, a few seconds of counts, is lost.
 */
export class Numbers {
  readonly #config: NumbersConfig
  readonly #stats: StatWriter
  readonly #errors: ErrorWriter
  readonly #times = new TimeReader()
  readonly #loops: Loop[]

  constructor(config: NumbersConfig) {
    this.#config = config
    const { process, version, onTrouble } = config
    this.#stats = new StatWriter({ process })
    this.#errors = new ErrorWriter({ process, version, clock: this.#stats.clock })
    const loop = (name: string, everyMs: number, pass: () => Promise<void>): Loop =>
      new Loop({ name, everyMs, pass, onTrouble })
    this.#loops = [
      loop('stats', statsEveryMs, () => this.#stats.write(config.db)),
      loop('errors', errorsEveryMs, () => this.#writeErrors()),
    ]
  }

  start(): void {
    for (const loop of this.#loops) loop.start()
  }

  /** Writes the last of it; after the last job has been settled. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    await Promise.all(this.#loops.map((loop) => loop.runOnce()))
  }

  started(held: HeldJob): void {
    const { job, startedAt } = held
    const series = this.#stats.tally.at(job.queue, job.kind, startedAt)
    series.started++
    const waitedMs = this.#stats.clock.at(startedAt) - this.#times.read(job.runAt)
    // Clocks differ by a little, and a time may be one that no clock shows.
    if (Number.isFinite(waitedMs)) series.waited(waitedMs)
  }

  settled({ held, outcome, ranMs }: Ended): void {
    const now = performance.now()
    const { job } = held
    const series = this.#stats.tally.at(job.queue, job.kind, now)
    switch (outcome.type) {
      case 'succeeded':
      case 'completed':
      case 'handed-over':
        series.succeeded++
        series.attempts += job.attempt
        series.ran(ranMs)
        for (const { queue, kind } of outcome.children) this.#stats.tally.at(queue, kind, now).enqueued++
        return
      case 'retry':
        series.failed++
        series.ran(ranMs)
        this.#errors.tally.add({ ...outcome.error, kind: job.kind }, { job: job.id, isDeath: false })
        return
      case 'dead':
        series.dead++
        if (held.startedAt > 0) series.ran(ranMs)
        this.#errors.tally.add({ ...outcome.error, kind: job.kind }, { job: job.id, isDeath: true })
        return
      case 'crashed':
        series.crashed++
        series.ran(ranMs)
        return
      case 'cancelled':
        series.cancelled++
        return
      case 'snoozed':
        series.snoozed++
        return
      case 'released':
        series.released++
        return
    }
  }

  refused({ held: { job } }: Ended): void {
    this.#stats.tally.at(job.queue, job.kind, performance.now()).refused++
  }

  /** It took back jobs of lost workers: nobody else can count those. */
  swept({ returned, quarantined }: Swept): void {
    const now = performance.now()
    for (const { queue, kind } of returned) this.#stats.tally.at(queue, kind, now).lease_expired++
    for (const { id, queue, kind } of quarantined) {
      const series = this.#stats.tally.at(queue, kind, now)
      series.lease_expired++
      series.dead++
      this.#errors.tally.add(workerLost(kind), { job: id, isDeath: true })
    }
  }

  /** Schedules made jobs. */
  fired({ queue, kind, fires }: Fired): void {
    const jobs = fires.filter(({ jobId }) => jobId !== null).length
    if (jobs > 0) this.#stats.tally.at(queue, kind, performance.now()).enqueued += jobs
  }

  async #writeErrors(): Promise<void> {
    const { db, events, log } = this.#config
    for (const regressed of await this.#errors.write(db)) {
      events.emit('regressed', regressed)
      log.error(regressed, 'regressed: an error that was resolved is back')
    }
  }
}

/** Jobs whose worker was lost too often are one group for each kind: as sweep.sql says it of the dead letter. */
function workerLost(kind: string): Parameters<ErrorWriter['tally']['add']>[0] {
  return {
    fingerprint: createHash('md5').update(`crash ${kind}`).digest('hex').slice(0, 16),
    kind,
    class: 'crash',
    name: 'WorkerLost',
    message: 'Its worker ended while it ran, too often',
  }
}
