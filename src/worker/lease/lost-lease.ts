import { setTimeout as pause } from 'node:timers/promises'
import { StintError } from '../../core/errors.ts'
import type { Database } from '../../db/database.ts'
import { waitAfterMs } from '../../db/wait.ts'
import type { AboutWorker } from '../../jobs/leases/lease.ts'
import type { Bell } from '../../jobs/wake-up/bell.ts'
import { leaseLost } from '../attempt/fenced-tx.ts'
import type { HeldJob, HeldJobs } from '../attempt/held-job.ts'
import { abortForLease } from '../attempt/lose-job.ts'
import type { Dispatcher } from '../claim/dispatcher.ts'
import type { LostReplies } from '../claim/lost-replies.ts'
import type { Events } from '../report/events.ts'
import type { Logger } from '../report/log.ts'
import type { Report } from '../report/report.ts'
import type { Troubles } from '../watch/troubles.ts'
import { until } from '../until.ts'
import type { Tenure } from './tenure.ts'

export interface LostLeaseConfig {
  db: Database
  tenure: Tenure
  held: HeldJobs
  dispatcher: Dispatcher
  bell: Bell
  lostReplies: LostReplies
  about: AboutWorker
  /** How long handlers have to end after their lease was lost. */
  graceMs: number
  events: Events
  log: Logger
  report: Report
  troubles: Troubles
  /** Ends the worker. */
  giveUp: (error: Error) => void
}

/** What a worker does when its lease is at risk, safe again, or lost. */
export class LostLease {
  readonly #config: LostLeaseConfig

  constructor(config: LostLeaseConfig) {
    this.#config = config
  }

  /** Not renewed for so long that other workers may soon take its jobs. */
  atRisk(): void {
    const { tenure, log } = this.#config
    const { workerId, ageMs } = tenure
    log.error(
      { workerId, ageMs: Math.round(ageMs) },
      'lease at risk: no heartbeat got through; handlers are aborted',
    )
    this.#abortAll(leaseAtRisk)
  }

  safeAgain(): void {
    const { tenure, log, lostReplies, bell } = this.#config
    log.info({ workerId: tenure.workerId }, 'lease renewed')
    lostReplies.note()
    bell.ring()
  }

  heartbeatFailed(message: string): void {
    const { tenure, log } = this.#config
    log.warn({ workerId: tenure.workerId, error: message }, 'heartbeat failed, trying again')
  }

  /**
   * Other workers have declared this one lost: no job here is ours. Once its handlers have ended, it begins again under
   * a new id.
   */
  async lost(): Promise<void> {
    const { tenure, dispatcher, events, log, graceMs, giveUp } = this.#config
    if (tenure.isOver) return
    const { workerId } = tenure
    events.emit('workerLost', { workerId })
    log.error({ workerId }, 'worker lost: others have taken its jobs; beginning again under a new id')
    this.#abortAll(leaseLost)
    await until(() => dispatcher.running === 0, { ms: graceMs })
    if (tenure.isClosed) return
    if (dispatcher.running > 0) {
      giveUp(new Error(`${dispatcher.running} handlers did not end after their worker was lost`))
      return
    }
    await this.#beginAnew()
  }

  async #beginAnew(): Promise<void> {
    const { db, tenure, about, events, log, bell, troubles } = this.#config
    for (let failures = 0; !tenure.isClosed; failures++) {
      tenure.renew()
      try {
        await tenure.begin(db, about)
        const { workerId } = tenure
        log.info({ workerId }, 'worker ready again')
        events.emit('ready', { workerId })
        bell.ring()
        return
      } catch (error) {
        troubles.of('register', error)
        await pause(waitAfterMs(failures))
      }
    }
  }

  #abortAll(reasonFor: (held: HeldJob) => Error): void {
    const { held, dispatcher, report } = this.#config
    for (const one of held.all()) if (one.phase === 'running') abortForLease(one, reasonFor(one), report)
    dispatcher.releaseAll('the lease was at risk')
  }
}

function leaseAtRisk({ job }: HeldJob): Error {
  return new StintError(
    'lease-lost',
    `Job ${job.id} of '${job.kind}' may soon be another worker's: no heartbeat got through for most of a lease.`,
    { jobIds: [job.id] },
  )
}
