import { longestTimerMs } from '../../core/duration.ts'
import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import { peek } from '../../core/failures/thrown.ts'
import { durationOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import { hasEnded } from '../../jobs/follow/look.ts'
import type { Ending, Look } from '../../jobs/follow/look.ts'
import { checkId, notFound } from '../job-id.ts'
import type { Waiter } from './waiter.ts'

export interface ResultOptions {
  /** How long to wait for the end of the job, at most 24 days; then the call throws `result-timeout`. @default '30s' */
  timeout?: Duration | undefined
  /** Stops the wait; the call throws the signal's reason. The job goes on. */
  signal?: AbortSignal | undefined
}

export interface EndRequest {
  id: string
  timeoutMs: number
  signal?: AbortSignal | undefined
  /** The job was stored in the caller's transaction: it does not exist for others before the commit. */
  isPerhapsUncommitted?: boolean | undefined
}

export function resolveResultOptions(id: string, options: ResultOptions = {}): EndRequest {
  checkId(id)
  const { timeout = '30s', signal, ...rest } = options
  rejectUnknown('result()', rest, ['timeout', 'signal'])
  return {
    id: id.toLowerCase(),
    timeoutMs: durationOption('timeout', timeout, { maxMs: longestTimerMs }),
    signal: signalOption(signal),
  }
}

export function signalOption(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw invalidOption('signal', 'an AbortSignal', signal)
}

/** The result of a job, once it has succeeded. */
export async function resultOf(waiter: Waiter, request: EndRequest): Promise<unknown> {
  const over = await endOf(waiter, request)
  if (over.type === 'failed') throw over.error
  const { ending } = over
  if (ending.state === 'succeeded') return ending.result
  throw ending.state === 'dead' ? deadJob(ending) : cancelledJob(ending)
}

/** How a wait is over: the job has ended, or it cannot be waited for any more. */
type Over = { type: 'ended'; ending: Ending } | { type: 'failed'; error: unknown }

function endOf(waiter: Waiter, request: EndRequest): Promise<Over> {
  const { id, timeoutMs, signal, isPerhapsUncommitted = false } = request
  return new Promise((resolve) => {
    signal?.throwIfAborted()
    let last: Look | undefined
    const end = (over: Over): void => {
      stop()
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(over)
    }
    const fail = (error: unknown): void => {
      end({ type: 'failed', error })
    }
    const onAbort = (): void => {
      fail(signal?.reason)
    }
    // It calls back in a later turn, when `timer` is set.
    const stop = waiter.watch({
      id,
      withSteps: false,
      seen: (look) => {
        const wasThere = last !== undefined
        last = look ?? last
        if (look === undefined) {
          if (wasThere || !isPerhapsUncommitted) fail(notFound(id))
        } else if (hasEnded(look)) end({ type: 'ended', ending: look })
      },
      failed: fail,
    })
    const timer = setTimeout(() => {
      fail(timedOut(request, last))
    }, timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function deadJob({ id, kind, attempt, reason, error }: Ending): StintError {
  const [name, message] = [peek(error, 'name'), peek(error, 'message')]
  const said = typeof message === 'string' ? `: ${typeof name === 'string' ? `${name}: ` : ''}${message}` : ''
  const attempts = `${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}`
  return new StintError(
    'job-dead',
    `Job ${id} of '${kind}' is dead (${reason ?? 'no reason stored'}) after ${attempts}${said}`,
    { jobIds: [id], cause: error },
  )
}

function cancelledJob({ id, kind, reason }: Ending): StintError {
  const why = reason === null ? '' : `: ${reason}`
  return new StintError('job-cancelled', `Job ${id} of '${kind}' was cancelled${why}`, { jobIds: [id] })
}

function timedOut({ id, timeoutMs }: EndRequest, last: Look | undefined): StintError {
  const state =
    last === undefined
      ? 'it could not be read yet; if it was enqueued with `tx`, the transaction must commit first'
      : `it is ${last.state}`
  return new StintError('result-timeout', `Job ${id} has not ended within ${timeoutMs} ms: ${state}.`, {
    jobIds: [id],
    current: last?.state,
  })
}
