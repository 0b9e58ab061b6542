import type { Wanted } from '../jobs/leases/wanted.ts'
import type { Bell } from '../jobs/wake-up/bell.ts'
import type { Dispatcher } from './claim/dispatcher.ts'
import type { Tenure } from './lease/tenure.ts'
import type { Events } from './report/events.ts'
import type { Logger } from './report/log.ts'

export interface ControlConfig {
  tenure: Pick<Tenure, 'workerId' | 'isPaused' | 'pause'>
  dispatcher: Pick<Dispatcher, 'releaseAll'>
  bell: Pick<Bell, 'ring'>
  events: Events
  log: Logger
  /** Stops the worker as a signal does. */
  drain: (reason: string) => void
}

/** Does what people ask of a running worker (`stint.workers`); it is told with every survey. */
export class Control {
  readonly #config: ControlConfig
  #isDraining = false

  constructor(config: ControlConfig) {
    this.#config = config
  }

  hear(wanted: Wanted | null): void {
    if (wanted?.state === 'draining') this.#drain(wanted.reason)
    else if (wanted?.state === 'paused') this.#pause(wanted.reason)
    else this.#resume()
  }

  #pause(reason: string | null): void {
    const { tenure, dispatcher, events, log } = this.#config
    if (tenure.isPaused) return
    tenure.pause(true)
    dispatcher.releaseAll('its worker was paused')
    const about = { workerId: tenure.workerId, reason }
    log.info(about, 'paused by a person: claims nothing, finishes what runs')
    events.emit('workerPaused', about)
  }

  #resume(): void {
    const { tenure, bell, events, log } = this.#config
    if (!tenure.isPaused) return
    tenure.pause(false)
    bell.ring()
    const about = { workerId: tenure.workerId }
    log.info(about, 'resumed')
    events.emit('workerResumed', about)
  }

  #drain(reason: string | null): void {
    if (this.#isDraining) return
    this.#isDraining = true
    this.#config.drain(reason === null ? 'drained by a person' : `drained by a person: ${reason}`)
  }
}
