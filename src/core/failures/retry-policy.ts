import { retryDelayMs } from './backoff.ts'
import type { Backoff } from './backoff.ts'
import type { FailureClass } from './failure.ts'
import type { Verdict } from './verdict.ts'

/** The rule for failures of one class. */
export interface ClassRule {
  /** `in-place`: a few quick tries within the attempt, then as `retry`. */
  readonly action: 'retry' | 'dead' | 'in-place'
  /**
   * A budget of its own: failures of this class count against it instead of the job's attempts. For `in-place`, how
   * many quick tries.
   */
  readonly attempts?: number
  /** Instead of the job's backoff. */
  readonly backoff?: Backoff
  /** A default and not a choice of the contract: it does not apply to a job that has a single attempt. */
  readonly isDefault?: true
}

export type ClassRules = Readonly<Record<FailureClass, ClassRule>>

export const defaultClassRules: ClassRules = Object.freeze({
  timeout: rule({ action: 'retry' }),
  connection: rule({ action: 'retry' }),
  unknown: rule({ action: 'retry' }),
  crash: rule({ action: 'retry' }),
  conflict: rule({ action: 'in-place', attempts: 3 }),
  // A rate limit is no fault of the job: it may be retried often before a person has to look.
  'rate-limited': rule({ action: 'retry', attempts: 25, backoff: { base: '1s', factor: 2, max: '5m' } }),
  invalid: rule({ action: 'dead' }),
  contract: rule({ action: 'dead' }),
  permanent: rule({ action: 'dead' }),
})

function rule(chosen: ClassRule): ClassRule {
  return Object.freeze({ ...chosen, isDefault: true })
}

export interface DecisionRequest {
  failureClass: FailureClass
  verdict: Verdict | undefined
  /** The wait that the other side asked for, from retry-after.ts. */
  retryAfterMs: number | undefined
  /** The attempt that failed, from 1, since the last replay. */
  attempt: number
  maxAttempts: number
  /** Earlier failures by class, without this one. */
  classFailures: Readonly<Partial<Record<FailureClass, number>>>
  /** Quick tries that this attempt has had. */
  inPlaceTries: number
  rules: ClassRules
  backoff: Backoff
  error: unknown
  random: () => number
}

export type Decision =
  | { type: 'in-place'; delayMs: number }
  | { type: 'retry'; delayMs: number; burnsAttempt: boolean }
  | { type: 'dead'; reason: 'exhausted' | 'permanent' | 'discarded-contract' }
  | { type: 'snooze'; delayMs: number; reason: string | null }
  | { type: 'cancel'; reason: string }

/** Decides what follows a failed attempt. The handler's verdict comes first, then the rule of the failure's class. */
export function decide(request: DecisionRequest): Decision {
  const { verdict } = request
  switch (verdict?.type) {
    case 'permanent':
      return { type: 'dead', reason: 'permanent' }
    case 'snooze':
    case 'cancel':
      return verdict
    case 'retry-after':
      return retryOrDie(request, request.rules[request.failureClass])
    case undefined:
      return decideByClass(request)
  }
}

function decideByClass(request: DecisionRequest): Decision {
  const classRule = request.rules[request.failureClass]
  switch (classRule.action) {
    case 'dead':
      return { type: 'dead', reason: deadReason(request.failureClass) }
    case 'in-place':
      return canTryInPlace(request, classRule)
        ? { type: 'in-place', delayMs: inPlaceDelayMs(request.random) }
        : retryOrDie(request, classRule)
    case 'retry':
      return retryOrDie(request, classRule)
  }
}

function deadReason(failureClass: FailureClass): 'discarded-contract' | 'permanent' {
  return failureClass === 'invalid' || failureClass === 'contract' ? 'discarded-contract' : 'permanent'
}

function canTryInPlace(request: DecisionRequest, { attempts = 0, isDefault }: ClassRule): boolean {
  return request.inPlaceTries < attempts && !(isDefault === true && isSingle(request))
}

/** `attempts: 1` says that the handler must not run again by itself; no default of ours may overrule that. */
function isSingle({ maxAttempts }: DecisionRequest): boolean {
  return maxAttempts === 1
}

/** Long enough for the other transaction to be over, short enough to hold the slot for it. */
const leastInPlaceMs = 50
const mostInPlaceMs = 250

function inPlaceDelayMs(random: () => number): number {
  return Math.round(leastInPlaceMs + random() * (mostInPlaceMs - leastInPlaceMs))
}

function retryOrDie(request: DecisionRequest, classRule: ClassRule): Decision {
  const budget = ownBudget(request, classRule)
  const failures =
    budget === undefined ? request.attempt : (request.classFailures[request.failureClass] ?? 0) + 1
  if (failures >= (budget ?? request.maxAttempts)) return { type: 'dead', reason: 'exhausted' }
  return {
    type: 'retry',
    delayMs: delayMs(request, classRule, failures),
    burnsAttempt: budget === undefined,
  }
}

function ownBudget(request: DecisionRequest, { action, attempts, isDefault }: ClassRule): number | undefined {
  if (action !== 'retry' || (isDefault === true && isSingle(request))) return undefined
  return attempts
}

/** A server that asks for 0 seconds, or whose clock is ahead of ours, must not make us use up the budget in one burst. */
const leastAskedMs = 1_000

function delayMs(request: DecisionRequest, { backoff }: ClassRule, failures: number): number {
  const { verdict, retryAfterMs, error, random } = request
  if (verdict?.type === 'retry-after') return verdict.delayMs
  // The server may have told many clients the same moment: never before it, and up to a tenth later.
  if (retryAfterMs !== undefined) {
    return Math.round(Math.max(leastAskedMs, retryAfterMs) * (1 + 0.1 * random()))
  }
  return retryDelayMs(backoff ?? request.backoff, failures, error, random)
}
