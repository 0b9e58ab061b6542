import type { Job } from '../../core/job.ts'
import { printable } from '../../core/json/printable.ts'
import { textIn } from '../../core/json/stored-json.ts'
import type { Queryable } from '../../db/statement.ts'
import { get } from '../get.ts'
import { attempts as readAttempts } from './attempts.ts'
import type { Attempt } from './attempts.ts'

/**
 * Why an attempt was not the last one: the handler failed (error, timeout), its worker or process was lost (lease-lost, crash),
 * it was given back (released, snoozed), a person replayed the dead job (replayed), its breaker was open (breaker), the retry
 * budget put it off (budget). The others end the job: succeeded, cancelled, expired; or it still runs: running.
 */
export type AttemptCause =
  | 'error'
  | 'timeout'
  | 'lease-lost'
  | 'crash'
  | 'released'
  | 'snoozed'
  | 'replayed'
  | 'breaker'
  | 'budget'
  | 'running'
  | 'succeeded'
  | 'cancelled'
  | 'expired'

/** One start of a job. */
export interface WhyAttempt {
  /** Grows with every start. */
  epoch: number
  attempt: number
  cause: AttemptCause
  /** Whether it counts against the attempts of the job. */
  burned: boolean
  /** When it ended; while it runs, when it started. */
  at: Date | null
  worker: string | null
  /** In words. */
  says: string
}

export interface WhyTwice {
  /** In order, the last 1,000. */
  attempts: WhyAttempt[]
}

/** Why a job ran more than once. Undefined if there is no such job. */
export async function whyTwice(db: Queryable, id: string): Promise<WhyTwice | undefined> {
  const job = await get(db, id)
  if (job === undefined) return undefined
  return { attempts: explained(job, await readAttempts(db, id)) }
}

/** Notes about an attempt that had ended: they belong to the attempt with their epoch. */
const notes = new Set(['refused', 'thrown-late'])

function explained(job: Job, stored: readonly Attempt[]): WhyAttempt[] {
  const ended = stored.filter(({ outcome }) => !notes.has(outcome))
  const last = lastOf(job)
  // The number that the start after each attempt got: the same number again means that none was burned.
  const next = [...ended.slice(1).map(({ attempt }) => attempt), last?.attempt ?? job.attempt + 1]
  return [
    ...ended.map((attempt, index): WhyAttempt => {
      const isLast = index === ended.length - 1 && last === undefined
      const burned = (next[index] ?? 0) > attempt.attempt
      const isReplayed = !isLast && burned && attempt.attempt === job.attemptsBefore
      const cause = isReplayed ? 'replayed' : causeOf(attempt)
      const late = stored.filter((one) => notes.has(one.outcome) && one.epoch === attempt.epoch).map(lateText)
      return {
        epoch: attempt.epoch,
        attempt: attempt.attempt,
        cause,
        burned,
        at: attempt.endedAt,
        worker: attempt.workerId,
        says: [
          endText(attempt),
          ...(isReplayed ? ['the job was dead, and a replay started it again'] : []),
          ...late,
          burned ? 'burned an attempt' : 'no attempt burned',
        ].join('; '),
      }
    }),
    ...(last === undefined ? [] : [last]),
  ]
}

/** The attempt that runs or succeeded: none is stored for it. */
function lastOf({ state, epoch, attempt, startedAt, finishedAt, workerId }: Job): WhyAttempt | undefined {
  if (state !== 'running' && state !== 'succeeded') return undefined
  const isRunning = state === 'running'
  return {
    epoch,
    attempt,
    cause: state,
    burned: true,
    at: isRunning ? startedAt : finishedAt,
    worker: workerId,
    says: isRunning ? 'runs now' : 'succeeded',
  }
}

function causeOf({ outcome, reason }: Attempt): AttemptCause {
  switch (outcome) {
    case 'failed':
    case 'timed-out':
      return flowCause(reason) ?? (outcome === 'failed' ? 'error' : 'timeout')
    case 'crashed':
      return 'crash'
    case 'lease-lost':
    case 'released':
    case 'snoozed':
    case 'cancelled':
    case 'expired':
      return outcome
    default:
      return 'error'
  }
}

/** What flow control noted with a failed attempt; see items.ts of the settler. */
function flowCause(reason: string | null): AttemptCause | undefined {
  if (reason === null) return undefined
  if (reason.endsWith('by the retry budget')) return 'budget'
  return reason.includes('breaker') ? 'breaker' : undefined
}

function endText({ outcome, error, reason }: Attempt): string {
  const name = textIn(error, 'name')
  const message = textIn(error, 'message')
  const what = [name, message].filter((part) => part !== null).join(': ')
  const why = [what, reason ?? ''].filter((part) => part !== '').join('; ')
  return `${outcome.replace('-', ' ')}${why === '' ? '' : `: ${line(why)}`}`
}

function lateText({ outcome, reason, error }: Attempt): string {
  return outcome === 'refused'
    ? line(reason ?? 'late settle refused')
    : `threw after its end: ${line(textIn(error, 'message') ?? '')}`
}

const longest = 200

function line(text: string): string {
  const shown = printable(text.replace(/\s+/g, ' ').trim())
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 1)}…`
}
