import { setTimeout as pause } from 'node:timers/promises'
import { isStintError } from '../core/errors.ts'
import { span } from '../core/span.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { classify } from '../db/classify.ts'
import type { Logger } from './report/log.ts'

export interface ReachOptions {
  /** How long to go on trying. */
  waitMs: number
  /** Ends the wait with an AbortError. */
  signal: AbortSignal
  log: Logger
}

const mostPauseMs = 5_000
const logEveryMs = 30_000

/**
 * Tries until the database can be reached. An error that does not pass with time is thrown at once, others when the
 * wait is over.
 */
export async function reach(attempt: () => Promise<void>, options: ReachOptions): Promise<void> {
  const { waitMs, signal, log } = options
  const startedAt = performance.now()
  let [logged, loggedAt] = ['', -Infinity]
  for (let tries = 0; ; tries++) {
    try {
      await attempt()
      return
    } catch (error) {
      const pauseMs = Math.min(mostPauseMs, 200 * 2 ** tries)
      const leftMs = startedAt + waitMs - performance.now()
      if (!mayPass(error) || pauseMs > leftMs) throw error
      const why = messageOf(error)
      if (why !== logged || performance.now() - loggedAt > logEveryMs) {
        log.warn({ error: why }, `the database cannot be reached; trying for another ${span(leftMs)}`)
        ;[logged, loggedAt] = [why, performance.now()]
      }
      await pause(pauseMs, undefined, { signal })
    }
  }
}

function mayPass(error: unknown): boolean {
  // The database was reached: its schema does not fit.
  if (isStintError(error)) return false
  const trouble = classify(error)
  return trouble === 'wait' || trouble === 'unknown' || trouble === 'again'
}
