import type { Bell } from '../../jobs/wake-up/bell.ts'
import type { Poll } from '../../jobs/wake-up/poll.ts'
import type { Loop } from '../loop.ts'
import type { Breakers } from '../breakers.ts'
import type { Tenure } from '../lease/tenure.ts'
import { LoopPart, newLoop } from '../part.ts'
import type { Watched } from '../part.ts'
import type { Troubles } from '../watch/troubles.ts'
import { claimOf } from './claim-report.ts'
import type { ClaimReport } from './claim-report.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { LostReplies } from './lost-replies.ts'
import type { Pools } from './pools.ts'
import type { Scout } from './scout.ts'

export interface ClaimingConfig {
  tenure: Tenure
  pools: Pools
  dispatcher: Dispatcher
  scout: Scout
  breakers: Pick<Breakers, 'turn' | 'wakeAt'>
  bell: Bell
  poll: Poll
  lostReplies: LostReplies
  claimReport: Pick<ClaimReport, 'expireClosed'>
  /** Compares the jobs that run under this worker in the database with those that it holds. */
  reconciling: Loop
  troubles: Troubles
}

/** How long a claimed job may wait here for a slot; then it is given back, since another worker may start it sooner. */
const prefetchTtlMs = 2_000

/** Claims jobs as long as the worker is open. */
export class Claiming extends LoopPart {
  readonly #config: ClaimingConfig
  #looping: Promise<void> | undefined

  constructor(config: ClaimingConfig) {
    super([
      newLoop(config.troubles, {
        name: 'prefetch',
        everyMs: prefetchTtlMs / 4,
        pass: () => {
          const oldest = performance.now() - prefetchTtlMs
          config.dispatcher.release(({ heldSince }) => heldSince < oldest, 'it waited too long for a slot')
          return Promise.resolve()
        },
      }),
      newLoop(config.troubles, {
        name: 'closed lanes',
        everyMs: 1_000,
        pass: () => {
          config.claimReport.expireClosed()
          return Promise.resolve()
        },
      }),
    ])
    this.#config = config
  }

  override start(): void {
    super.start()
    this.#looping = this.#loop()
  }

  /** Resolves once the loop has ended; it ends when the tenure is closed. */
  override async stop(): Promise<void> {
    this.#config.bell.ring()
    await this.#looping
    await super.stop()
  }

  override get turns(): Watched[] {
    const claims = this.#config.pools.all.map((pool) => ({
      name: claimOf(pool.config.name),
      since: () => pool.claimingSince,
    }))
    return [...claims, ...super.turns]
  }

  /** One `while`: claim if there is room, then sleep until the bell rings or the poll is due. */
  async #loop(): Promise<void> {
    const { tenure, dispatcher, scout, breakers, bell, poll, lostReplies, reconciling } = this.#config
    while (!tenure.isClosed) {
      const now = performance.now()
      scout.turn(now)
      if (lostReplies.hasNew()) void reconciling.runOnce()
      breakers.turn(now)
      dispatcher.fill(now)
      const pollAt = now + poll.waitMs()
      const wakeAt = Math.min(pollAt, scout.wakeAt, dispatcher.heldUntil(now), breakers.wakeAt(now))
      await bell.next(Math.max(1, wakeAt - now))
      if (performance.now() >= pollAt) scout.poll()
    }
  }
}
