import { StintError } from '../../core/errors.ts'
import { nameOption } from '../../core/names.ts'
import type { Database } from '../../db/database.ts'
import type { Queryable } from '../../db/statement.ts'
import { readFleet, readLeases } from '../../stats/read/fleet/fleet.ts'
import type { Fleet, Leases } from '../../stats/read/fleet/fleet.ts'
import { CurrentGauges } from '../../stats/read/queues/gauges.ts'
import { readJobBriefs, readOperationBriefs } from '../../stats/read/briefs.ts'
import type { JobBrief, OperationBrief } from '../../stats/read/briefs.ts'
import type { QueueHour } from '../../stats/read/queues/last-hour.ts'
import { readQueue } from '../../stats/read/queues/queue.ts'
import type { QueueDetails } from '../../stats/read/queues/queue.ts'
import type { QueueFigures } from '../../stats/read/queues/figures.ts'
import type { AllQueues, QueueReader } from '../../stats/read/queues/queues.ts'
import type { GaugeRow } from '../../stats/read/queues/read-gauges.ts'
import { readSeries } from '../../stats/read/series/series.ts'
import type { MergedSeries } from '../../stats/read/series/series.ts'
import { readSystem } from '../../stats/read/fleet/server.ts'
import type { SystemView } from '../../stats/read/fleet/server.ts'
import { RunningRateTotals } from '../../limits/rates/rate-totals.ts'
import type { RateTotals } from '../../limits/rates/rate-totals.ts'
import { RunningTotals } from '../../stats/read/series/totals.ts'
import type { Totals } from '../../stats/read/series/totals.ts'
import { readTrouble } from '../../stats/read/trouble.ts'
import type { Trouble } from '../../stats/read/trouble.ts'
import { hintsIn } from '../../jobs/wake-up/hint.ts'
import type { PressureReport } from '../../limits/pressure/state.ts'
import type { Calls } from '../calls.ts'
import { checkId } from '../job-id.ts'
import type { Connection } from '../connection.ts'
import type { Listener } from '../listener.ts'
import { allPressures } from '../pressure.ts'
import { resolveStatsOptions } from '../stats.ts'
import type { StatsOptions } from '../stats.ts'

/** All queues, and the workers that serve them. */
export interface QueuesOverview extends Fleet {
  /** By name: every queue that has jobs, had some within the last hour, is served by a worker, or is paused. */
  queues: QueueFigures[]
  /** The last hour of each queue that has counts in it. */
  hours: ReadonlyMap<string, QueueHour>
}

export interface Overview extends QueuesOverview {
  trouble: Trouble
}

export interface ViewConfig {
  connection: Connection
  listener: Listener
  /** The client's reader, which its other methods use too. */
  queues: QueueReader
}

/**
 * The data behind the dashboard: `stint.view`. Nothing here counts live jobs: figures come from gauges and from the counts
 * that workers write by the minute, lists are read through indexes and end after some hundreds. Statements that belong
 * together share one transaction: with server limits each would otherwise have its own, and wait for three answers.
 */
export class View {
  readonly #calls: Calls
  readonly #config: ViewConfig
  readonly #current = new CurrentGauges()
  readonly #totals = new RunningTotals()
  readonly #rateTotals = new RunningRateTotals()

  constructor(calls: Calls, config: ViewConfig) {
    this.#calls = calls
    this.#config = config
  }

  /** The current state: queues, workers, and problems that need a person. */
  async overview(): Promise<Overview> {
    return { ...(await this.queues()), trouble: await this.trouble() }
  }

  /** The figures of every queue, with the workers that serve them. */
  queues(): Promise<QueuesOverview> {
    return this.#calls.send(async (db) => {
      const fleet = await this.#fleet(db)
      const { queues, hours } = await db.transaction((tx) => this.#queues(tx, fleet))
      return { ...fleet, queues, hours }
    })
  }

  /** One queue with its kinds, priorities, busiest keys and settings; undefined if `queues()` does not list it. */
  async queue(name: string): Promise<(QueueDetails & { asOf: Date }) | undefined> {
    const queue = nameOption('queue', name)
    return this.#calls.send(async (db) => {
      const fleet = await this.#fleet(db)
      const { workers, asOf } = fleet
      return db.transaction(async (tx) => {
        const { queues, gauges } = await this.#queues(tx, fleet)
        const found = queues.find((one) => one.queue === queue)
        if (found === undefined) return undefined
        const gauge = gauges.find((one) => one.queue === queue)
        return { ...(await readQueue(tx, found, { gauge, workers })), asOf }
      })
    })
  }

  /** How full every queue with a rule is, and which queues are closed. */
  pressures(): Promise<PressureReport[]> {
    return this.#calls.send(allPressures)
  }

  /**
   * The counts of a queue, a kind, both or everything, as one line of at most 1,000 points, and when versions of the app
   * were first started. Options are those of `stint.stats()`, except `by`.
   */
  async series(options?: Omit<StatsOptions, 'by'>): Promise<MergedSeries> {
    const request = resolveStatsOptions({ ...options, by: 'all' })
    return this.#calls.send((db) => db.transaction((tx) => readSeries(tx, request)))
  }

  /** The live workers and those lost within the last hour, the one that leads upkeep, and the state of its services. */
  workers(): Promise<Fleet> {
    return this.#calls.send((db) => db.transaction(readFleet))
  }

  /** Running jobs, up to 200, ordered by the end of their lease. */
  leases(): Promise<Leases> {
    return this.#calls.send(readLeases)
  }

  /** Problems other than those of queues and workers: errors, schedules, operations, migrations. */
  trouble(): Promise<Trouble> {
    return this.#calls.send(readTrouble)
  }

  /** The database: its version, and that of Stint's tables in it. */
  system(): Promise<SystemView> {
    return this.#calls.send(readSystem)
  }

  /** Connections that this client has open, a `listen()` not counted. */
  get connections(): number {
    return this.#config.connection.connections
  }

  /**
   * Totals by queue and kind that only grow while this client lives, for a reader that polls them and computes
   * differences.
   */
  totals(): Promise<Totals[]> {
    return this.#calls.send((db) => this.#totals.read(db))
  }

  /** The same of up to 1,000 rates: tokens taken, and takers refused. */
  rateTotals(): Promise<RateTotals[]> {
    return this.#calls.send((db) => this.#rateTotals.read(db))
  }

  /** The state of some jobs, up to 1,000, without input and result; jobs that do not exist (any more) are left out. */
  async jobs(ids: readonly string[]): Promise<JobBrief[]> {
    const asked = checkIds(ids)
    return asked.length === 0 ? [] : this.#calls.send((db) => readJobBriefs(db, asked))
  }

  /** The state of some operations, up to 1,000. */
  async operations(ids: readonly string[]): Promise<OperationBrief[]> {
    const asked = checkIds(ids)
    return asked.length === 0 ? [] : this.#calls.send((db) => readOperationBriefs(db, asked))
  }

  /**
   * Calls `onStored` with the queues in which a job was stored or falls due, on the connection of the client's LISTEN, until the returned
   * function is called. Only a hint: some are lost, and none comes with `notify: false` or through a pooler.
   */
  async listen(onStored: (queues: readonly string[]) => void): Promise<() => Promise<void>> {
    await this.#config.connection.database()
    return this.#config.listener.hear({
      onPayload: (payload) => {
        const queues = new Set(hintsIn(payload, () => true).map(({ queue }) => queue))
        if (queues.size > 0) onStored([...queues])
      },
    })
  }

  /** The workers. If none of them is active, this refreshes the gauges for the statements that follow. */
  async #fleet(db: Database): Promise<Fleet> {
    const fleet = await db.transaction(readFleet)
    if (!fleet.workers.some(({ status }) => status === 'active')) await this.#current.refresh(db)
    return fleet
  }

  async #queues(db: Queryable, { workers }: Fleet): Promise<AllQueues & { gauges: GaugeRow[] }> {
    const gauges = await this.#current.read(db)
    const live = workers.filter(({ status }) => status !== 'lost')
    return { ...(await this.#config.queues.readGauged(db, { gauges, workers: live })), gauges }
  }
}

const mostIds = 1_000

function checkIds(ids: readonly string[]): string[] {
  if (ids.length > mostIds)
    throw new StintError('invalid-option', `Expected at most ${mostIds} ids, got ${ids.length}.`)
  for (const id of ids) checkId(id)
  return [...new Set(ids)]
}
