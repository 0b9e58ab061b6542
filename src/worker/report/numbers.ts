import { createHash } from 'node:crypto'
import type { Database } from '../../db/database.ts'
import { TimeReader } from '../../stats/write/clock.ts'
import { countSettled } from '../../stats/write/count-settled.ts'
import { ErrorWriter } from '../../stats/errors/write-errors.ts'
import { StatWriter } from '../../stats/write/write-stats.ts'
import type { PutAside } from '../../jobs/claim.ts'
import type { Swept } from '../recovery/sweep.ts'
import type { Fired } from '../../schedules/fires/tick.ts'
import { Loop } from '../loop.ts'
import { ClaimTimes } from './claim-times.ts'
import type { Events } from './events.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { Logger } from './log.ts'
import type { Ended } from '../attempt/outcome.ts'
import type { Part } from '../part.ts'
import type { Troubles } from '../watch/troubles.ts'

export interface NumbersConfig {
  db: Database
  /** The id under which it writes: the worker's first id, although the worker may get another one. */
  process: string
  version: string | null
  events: Events
  log: Logger
  /** Failures are only reported: jobs go on, and what could not be written is kept for the next pass. */
  troubles: Pick<Troubles, 'beside'>
}

const statsEveryMs = 10_000
const errorsEveryMs = 3_000
/** One pass in this many looks for endings to count even if this worker had none. */
const idlePasses = 3
/** One pass in this many reads all counts, however old. */
const wholePasses = 30

/**
 * Counts what this worker does, and writes the counts every few seconds, if there are any.
 *
 * Nothing else depends on it: if the database refuses a number, that is logged and jobs go on. A process that is killed
 * loses the last seconds of these counts: starts, refused endings, the histograms. Endings are counted by the
 * statements that store them, and so are exact; here those counts are only moved to their minutes.
 */
export class Numbers implements Part {
  readonly #config: NumbersConfig
  readonly #stats: StatWriter
  readonly #errors: ErrorWriter
  readonly #times = new TimeReader()
  readonly claimTimes = new ClaimTimes()
  readonly #loops: Loop[]
  #passes = 0
  #hasSettled = false

  constructor(config: NumbersConfig) {
    this.#config = config
    const { process, version, troubles } = config
    this.#stats = new StatWriter({ process })
    this.#errors = new ErrorWriter({ process, version, clock: this.#stats.clock })
    const loop = (name: string, everyMs: number, pass: () => Promise<void>): Loop =>
      new Loop({
        name,
        everyMs,
        pass,
        onTrouble: (_, error) => {
          troubles.beside(`numbers: ${name}`, error)
        },
      })
    this.#loops = [
      loop('stats', statsEveryMs, () => this.#writeStats()),
      loop('errors', errorsEveryMs, () => this.#writeErrors()),
    ]
  }

  start(): void {
    for (const loop of this.#loops) loop.start()
  }

  /** Writes the last counts; called after the last job has been settled. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    await Promise.all(this.#loops.map((loop) => loop.runOnce()))
  }

  started(held: HeldJob): void {
    const { job, startedAt } = held
    const series = this.#stats.tally.at(job.queue, job.kind, startedAt)
    series.started++
    const waitedMs = this.#stats.clock.at(startedAt) - this.#times.read(job.runAt)
    // Clocks differ by a little, and a stored time may be infinite.
    if (Number.isFinite(waitedMs)) series.waited(waitedMs)
  }

  settled({ held, outcome, ranMs }: Ended): void {
    const now = performance.now()
    this.#hasSettled = true
    const { job } = held
    const series = this.#stats.tally.at(job.queue, job.kind, now)
    switch (outcome.type) {
      case 'succeeded':
      case 'completed':
      case 'handed-over':
        series.ran(ranMs)
        for (const { queue, kind } of outcome.children) this.#stats.tally.at(queue, kind, now).enqueued++
        return
      case 'retry':
        series.ran(ranMs)
        if (outcome.movedMs !== undefined) series.moved++
        this.#errors.tally.add({ ...outcome.error, kind: job.kind }, { job: job.id, isDeath: false })
        return
      case 'dead':
        if (held.startedAt > 0) series.ran(ranMs)
        this.#errors.tally.add({ ...outcome.error, kind: job.kind }, { job: job.id, isDeath: true })
        return
      case 'crashed':
      case 'waiting':
        series.ran(ranMs)
        return
      case 'cancelled':
      case 'snoozed':
      case 'released':
        return
    }
  }

  refused({ held: { job } }: Ended): void {
    this.#stats.tally.at(job.queue, job.kind, performance.now()).refused++
  }

  /** Jobs of lost workers were quarantined. */
  swept({ quarantined }: Swept): void {
    for (const { id, kind } of quarantined)
      this.#errors.tally.add(workerLost(kind), { job: id, isDeath: true })
  }

  /** It became a dead letter before it could be claimed. */
  putAside({ id, kind, error, fingerprint }: PutAside): void {
    this.#errors.tally.add({ ...error, fingerprint, kind }, { job: id, isDeath: true })
  }

  /** Schedules made jobs. */
  fired({ queue, kind, fires }: Fired): void {
    const jobs = fires.filter(({ jobId }) => jobId !== null).length
    if (jobs > 0) this.#stats.tally.at(queue, kind, performance.now()).enqueued += jobs
  }

  async #writeStats(): Promise<void> {
    await this.#stats.write(this.#config.db)
    // An idle worker does it now and then too: a worker that was killed leaves counts behind.
    const pass = this.#passes++
    if (!this.#hasSettled && pass % idlePasses !== 0) return
    this.#hasSettled = false
    await countSettled(this.#config.db, { isWhole: pass % wholePasses === 0 })
  }

  async #writeErrors(): Promise<void> {
    const { db, events, log } = this.#config
    for (const regressed of await this.#errors.write(db)) {
      events.emit('regressed', regressed)
      log.error(regressed, 'regressed: an error that was resolved is back')
    }
  }
}

/** Jobs whose worker was lost too often are one group per kind, as sweep.sql writes it into the dead letter. */
function workerLost(kind: string): Parameters<ErrorWriter['tally']['add']>[0] {
  return {
    fingerprint: createHash('md5').update(`crash ${kind}`).digest('hex').slice(0, 16),
    kind,
    class: 'crash',
    name: 'WorkerLost',
    message: 'Its worker ended while it ran, too often',
  }
}
