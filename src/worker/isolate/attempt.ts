import type { JobContract } from '../../contracts/contract.ts'
import { isError, peek } from '../../core/failures/thrown.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import { crashed } from '../attempt/crash.ts'
import { CancelledError, endedByForce } from '../attempt/execute.ts'
import type { AbortCause, HeldJob } from '../attempt/held-job.ts'
import type { Logger } from '../report/log.ts'
import type { Notes } from '../attempt/notes.ts'
import type { Outcome } from '../attempt/outcome.ts'
import type { Child } from './child.ts'
import type { AbortReason, JobMessage } from './messages.ts'

export interface AttemptConfig {
  notes: Notes
  log: Logger
  crashLimit: number
  /** How long a handler has to end by itself after it was told to. */
  graceMs: number
  leaseMs: number
  announcer: Pick<Announcer, 'stored'>
}

/** Runs a job in a child. The outcome is the one that the child reports, or the one that the child's end implies. */
export function attemptIn(
  child: Child,
  { held, contract, timeoutMs }: { held: HeldJob; contract: JobContract; timeoutMs: number },
  config: AttemptConfig,
): Promise<Outcome> {
  const { job, workerId, heldSince } = held
  const { notes, log, crashLimit, announcer } = config
  const lease = job.leaseId
  return new Promise((resolve) => {
    let hasBegun = false
    let mayBeCompleted = false
    let grace: NodeJS.Timeout | undefined
    const over = (outcome: Outcome): void => {
      clearTimeout(grace)
      unlisten()
      resolve(outcome)
    }
    const hear = (message: JobMessage): void => {
      if (message.lease !== lease) return
      switch (message.type) {
        case 'begun':
          hasBegun = true
          return
        case 'progress':
          notes.progress(held, message.percent, message.note)
          return
        case 'line':
          notes.log(held, message)
          return
        case 'log':
          log[message.level](message.fields, message.message)
          return
        case 'write':
          mayBeCompleted = true
          void notes.finish(held, false).then(() => {
            child.post({ type: 'written', lease })
          })
          return
        case 'completed':
          held.complete()
          return
        case 'progressed':
          held.progressed()
          return
        case 'stored':
          announcer.stored(new Set(message.hints))
          return
        case 'outcome':
          over(message.outcome)
          return
      }
    }
    const abort = (cause: AbortCause, reason: unknown): void => {
      child.post({ type: 'abort', lease, cause, reason: describe(reason) })
      // By the worker's clock: a child whose event loop is busy neither hears nor says anything.
      grace = setTimeout(
        () => {
          child.kill()
        },
        graceMsOf(cause, config),
      )
    }
    child.listen(hear)
    void child.gone.then((story) => {
      if (!hasBegun && held.abortedFor === undefined) {
        // Not at once: a child that always ends like this would be started again and again for the same job.
        const delayMs = 1_000 * (1 + Math.random())
        over({ type: 'snoozed', delayMs, reason: `${story}, before it had begun` })
        return
      }
      // If it was told to end, that is the cause of its end, however it ended.
      const ending =
        held.abortedFor === undefined ? crashed(job, { story, crashLimit }) : endedByForce(held, contract)
      // The child may have committed its completion and ended before it could say so: only the database knows.
      over(mayBeCompleted ? { type: 'handed-over', children: [], otherwise: ending } : ending)
    })
    const unlisten = held.listen(abort)
    child.post({ type: 'run', job, workerId, heldForMs: performance.now() - heldSince, timeoutMs })
    if (held.abortedFor !== undefined) abort(held.abortedFor, held.abortReason)
  })
}

/**
 * A stop waits a second for handlers, and a lease at risk has a fifth of its time left: the child is killed before
 * either is over.
 */
function graceMsOf(cause: AbortCause, { graceMs, leaseMs }: AttemptConfig): number {
  if (cause === 'shutdown') return Math.min(graceMs, 700)
  return cause === 'lease' ? Math.min(graceMs, leaseMs / 10) : graceMs
}

function describe(reason: unknown): AbortReason {
  const code = peek(reason, 'code')
  return {
    name: isError(reason) ? reason.name : 'AbortError',
    message: isError(reason) ? reason.message : String(reason),
    code: typeof code === 'string' ? code : undefined,
    cancelReason: reason instanceof CancelledError ? reason.reason : null,
  }
}
