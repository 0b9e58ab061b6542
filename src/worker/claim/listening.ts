import { Subscription } from '../../db/subscription.ts'
import { channelOf, hintsIn, saysCancel, saysRules, saysSchedules } from '../../jobs/wake-up/hint.ts'
import type { Hint } from '../../jobs/wake-up/hint.ts'
import { listenLocally, databaseKey } from '../../jobs/wake-up/local.ts'
import { saysWaiting } from '../../jobs/wake-up/ended.ts'
import type { Activity } from '../report/activity.ts'
import type { Endings } from '../report/endings.ts'
import type { Cancellations } from '../attempt/cancellations.ts'
import type { Tenure } from '../lease/tenure.ts'
import type { WorkerConfig } from '../options.ts'
import type { Part, Watched } from '../part.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { Pools } from './pools.ts'
import type { Scout } from './scout.ts'

export interface ListeningConfig {
  url: string
  worker: WorkerConfig
  deadlineMs: number
  tenure: Tenure
  pools: Pools
  scout: Scout
  scheduler: Scheduler
  cancellations: Cancellations
  endings: Pick<Endings, 'callersWait'>
  activity: Activity
  troubles: Troubles
}

const probeEveryMs = 15_000

/**
 * Receives hints about new jobs, cancellations, changed schedules and waiting callers: from this process directly, from others by
 * NOTIFY.
 */
export class Listening implements Part {
  readonly #config: ListeningConfig
  readonly #subscription: Subscription | undefined
  readonly #unlisten: () => void

  constructor(config: ListeningConfig) {
    this.#config = config
    const { url, worker } = config
    this.#unlisten = listenLocally(databaseKey(url, worker.schema), (hints) => {
      this.#hear(hints)
    })
    this.#subscription = worker.notify ? this.#newSubscription() : undefined
  }

  start(): void {
    this.#subscription?.start()
  }

  async stop(): Promise<void> {
    await this.#subscription?.stop()
  }

  /** From now on hints of this process are ignored too. */
  close(): void {
    this.#unlisten()
  }

  readonly turns: readonly Watched[] = [{ name: 'listen', since: () => this.#subscription?.since }]

  #newSubscription(): Subscription {
    const { url, worker, deadlineMs, tenure, pools, scout, scheduler, cancellations, endings, troubles } =
      this.#config
    return new Subscription({
      url: worker.listenConnection ?? url,
      channels: [channelOf(worker.schema)],
      applicationName: 'stint listen',
      deadlineMs,
      probeEveryMs,
      onPayload: (payload) => {
        this.#hear(hintsIn(payload, (queue) => pools.get(queue) !== undefined))
        if (saysSchedules(payload)) scheduler.wake()
        if (saysRules(payload)) {
          pools.rulesChanged()
          scout.surveySoon()
        }
        if (saysWaiting(payload)) endings.callersWait()
        if (saysCancel(payload, tenure.workerId)) cancellations.checkNow()
      },
      onConnected: () => {
        // A notification may have been lost while there was no connection.
        cancellations.hint()
        scout.surveySoon()
      },
      onTrouble: (error) => {
        troubles.beside('listen', error)
      },
    })
  }

  #hear(hints: readonly Hint[]): void {
    if (hints.length === 0) return
    this.#config.activity.note()
    this.#config.scout.hear(hints)
  }
}
