import { classify } from '../../db/classify.ts'
import type { Displaced } from '../../limits/policies/policies.ts'
import type { PutAside } from '../../jobs/claim.ts'
import type { ClaimWay } from '../../jobs/leases/claim-figures.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import type { Bell } from '../../jobs/wake-up/bell.ts'
import type { Poll } from '../../jobs/wake-up/poll.ts'
import type { Activity } from '../report/activity.ts'
import type { Events } from '../report/events.ts'
import type { Numbers } from '../report/numbers.ts'
import type { Report } from '../report/report.ts'
import type { Troubles } from '../watch/troubles.ts'
import { ClosedLanes } from './closed-lanes.ts'
import type { LimitedAnswer } from './closed-lanes.ts'
import type { LostReplies } from './lost-replies.ts'
import type { FailingClaims } from './failing-claims.ts'

export interface ClaimReportParts {
  bell: Bell
  poll: Poll
  activity: Activity
  lostReplies: LostReplies
  failing: FailingClaims
  troubles: Troubles
  numbers: Numbers
  report: Report
  events: Events
  announcer: Pick<Announcer, 'askedToStop'>
  /** How long after its last claim a closed lane counts as free. */
  expireMs: number
}

/** What the answers to claims mean for the rest of the worker. */
export class ClaimReport {
  readonly #parts: ClaimReportParts
  readonly #closed: ClosedLanes

  constructor(parts: ClaimReportParts) {
    this.#parts = parts
    const { expireMs, events } = parts
    this.#closed = new ClosedLanes({
      expireMs,
      tell: (facts) => {
        events.emit('limited', facts)
      },
    })
  }

  /** A claim returned `count` jobs; `isWell` unless the queue's other sort of claim failed last. */
  answered({ count, queue, isWell }: { count: number; queue: string; isWell: boolean }): void {
    const { failing, troubles, activity, poll } = this.#parts
    if (isWell) {
      failing.wentWell(queue)
      troubles.wentWell(claimOf(queue))
    }
    if (count === 0) return
    activity.note()
    poll.found()
  }

  /** The statement of a claim took this long. */
  took(way: ClaimWay, ms: number): void {
    this.#parts.numbers.claimTimes.took(way, ms)
  }

  /** A claim under limits was answered. */
  limited(answer: LimitedAnswer): void {
    if (this.#parts.events.has('limited')) this.#closed.answered(answer, performance.now())
  }

  /** Lanes that no claim asks any more are not closed. */
  expireClosed(): void {
    this.#closed.expire(performance.now())
  }

  /** A claim failed; if it took jobs, reconciling finds them. */
  failed(queue: string, error: unknown): void {
    const { failing, troubles, bell } = this.#parts
    this.#mayHaveTaken(error)
    failing.failed(queue, error)
    troubles.of(claimOf(queue), error)
    bell.ring()
  }

  /** Some jobs of a claim could be taken, and some could not. */
  partlyFailed(error: unknown): void {
    this.#mayHaveTaken(error)
    this.#parts.troubles.beside('claim', error)
  }

  /** A limit ended a ready job, or asked a running one to stop. */
  displaced(queue: string, { policy, worker, ...job }: Displaced): void {
    const { events, announcer } = this.#parts
    if (worker !== null) announcer.askedToStop(worker)
    events.emit(policy === 'drop-newest' ? 'shed' : 'superseded', {
      ...job,
      queue,
      wasRunning: worker !== null,
    })
  }

  /** A job became a dead letter because its row cannot be claimed. */
  putAside(job: PutAside): void {
    this.#parts.numbers.putAside(job)
    this.#parts.report.putAside(job)
  }

  #mayHaveTaken(error: unknown): void {
    if (classify(error) === 'unknown') this.#parts.lostReplies.note()
  }
}

/** Names the part of a worker that claims jobs of this queue, for health and events. */
export function claimOf(queue: string): string {
  return `claim of '${queue}'`
}
