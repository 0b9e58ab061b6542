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
  /** Ends the worker: a part has been refused for so long that it will not recover here. */
  giveUp: (error: Error) => void
}

/** A server that has refused for this long will go on refusing. */
const brokenForMs = 60_000

/** Failures between a worker and its database: reported as events and log lines, and kept for its health. */
export class Troubles {
  readonly #config: TroublesConfig
  readonly #log: TroubleLog
  readonly #failing = new FailingParts()

  constructor(config: TroublesConfig) {
    this.#config = config
    this.#log = new TroubleLog(config.log)
  }

  /** The database is unreachable or refuses. A refusal that lasts, and that no value causes, ends the process. */
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

  /** Only these jobs fail, and all others go on. */
  ofJobs(part: string, error: unknown, jobIds: readonly string[]): void {
    this.#config.events.emit('trouble', { what: part, error, jobIds })
    this.#log.tellOfJobs(part, { error, jobIds })
  }

  /** Only reported: if a worker cannot do work for others, or write numbers, that is no reason to stop its own work. */
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

  /** The list of jobs that a part has to skip. */
  parkedBy(part: string): Parked {
    return new Parked((id, error) => {
      this.ofJobs(part, error, [id])
    })
  }
}

/** Whether the server answered with a refusal, and will refuse again: it is neither unreachable nor too busy. */
export function isRefusal(trouble: DatabaseTrouble): boolean {
  return trouble !== 'again' && trouble !== 'unknown' && trouble !== 'wait'
}
