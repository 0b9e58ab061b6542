import { classify } from '../../db/classify.ts'
import type { DatabaseTrouble } from '../../db/classify.ts'
import { Parked } from '../recovery/parked.ts'
import type { Events } from '../report/events.ts'
import { FailingParts } from './failing-parts.ts'
import type { Logger } from '../report/log.ts'
import { TroubleLog } from './trouble-log.ts'

export interface TroublesConfig {
  events: Events
  log: Logger
  /** Ends the worker: a part has been refused for so long that it will not get better here. */
  giveUp: (error: Error) => void
}

/** A server that has said no for so long will go on saying it. */
const brokenForMs = 60_000

/** What goes wrong between a worker and its database: told as events and log lines, and kept for its health. */
export class Troubles {
  readonly #config: TroublesConfig
  readonly #log: TroubleLog
  readonly #failing = new FailingParts()

  constructor(config: TroublesConfig) {
    this.#config = config
    this.#log = new TroubleLog(config.log)
  }

  /** The database is away or refuses; a refusal that lasts and is no value's ends the process. */
  of(part: string, error: unknown, { sinceOkMs }: { sinceOkMs?: number | undefined } = {}): void {
    const { events, giveUp } = this.#config
    events.emit('trouble', { what: part, error })
    const trouble = classify(error)
    this.#log.tell(part, { error, trouble })
    const isRefused = isRefusal(trouble)
    const refusedMs = this.#failing.failed(part, { isRefused, sinceOkMs })
    const isFatal = trouble === 'broken' || trouble === 'corrupt'
    if (isFatal && refusedMs > brokenForMs) giveUp(error instanceof Error ? error : new Error(String(error)))
  }

  /** Only these jobs are in the way, and all others go on. */
  ofJobs(part: string, error: unknown, jobIds: readonly string[]): void {
    this.#config.events.emit('trouble', { what: part, error, jobIds })
    this.#log.tellOfJobs(part, { error, jobIds })
  }

  /** Told, and no more: what a worker cannot do for others, or write down, is no reason to stop its own work. */
  beside(part: string, error: unknown): void {
    this.#config.events.emit('trouble', { what: part, error })
    this.#log.tell(part, { error, trouble: classify(error) })
  }

  wentWell(part: string): void {
    this.#failing.wentWell(part)
  }

  /** Why the worker cannot do its work now. */
  health(patienceMs: number): string[] {
    return this.#failing.problems(patienceMs)
  }

  /** For jobs that a part has to pass by. */
  parkedBy(part: string): Parked {
    return new Parked((id, error) => {
      this.ofJobs(part, error, [id])
    })
  }
}

/** Whether the server answered and says no, and will say it again: neither away nor too busy. */
export function isRefusal(trouble: DatabaseTrouble): boolean {
  return trouble !== 'again' && trouble !== 'unknown' && trouble !== 'wait'
}
