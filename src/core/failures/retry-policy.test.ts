import { describe, expect, test } from 'vitest'
import { defaultBackoff } from './backoff.ts'
import { failureClasses } from './failure.ts'
import type { FailureClass } from './failure.ts'
import { decide, defaultClassRules } from './retry-policy.ts'
import type { ClassRule, Decision, DecisionRequest } from './retry-policy.ts'

const random = (): number => 0.5

function decision(failureClass: FailureClass, request: Partial<DecisionRequest> = {}): Decision {
  return decide({
    failureClass,
    verdict: undefined,
    retryAfterMs: undefined,
    attempt: 1,
    maxAttempts: 5,
    classFailures: {},
    inPlaceTries: 0,
    rules: defaultClassRules,
    backoff: defaultBackoff,
    error: new Error('x'),
    random,
    ...request,
  })
}

const rulesWith = (failureClass: FailureClass, rule: ClassRule): Partial<DecisionRequest> => ({
  rules: { ...defaultClassRules, [failureClass]: rule },
})

const retry = (delayMs: number, burnsAttempt = true): Decision => ({ type: 'retry', delayMs, burnsAttempt })
const dead = (reason: 'exhausted' | 'permanent' | 'discarded-contract'): Decision => ({
  type: 'dead',
  reason,
})
const inPlace: Decision = { type: 'in-place', delayMs: 150 }

interface Row {
  first: Decision
  last: Decision
  asked: Decision
  quickTriesOver: Decision
  budgetOver: Decision
  single: Decision
}

const onOwnAttempts: Row = {
  first: retry(30_000),
  last: dead('exhausted'),
  asked: retry(10_500),
  quickTriesOver: retry(30_000),
  budgetOver: retry(30_000),
  single: dead('exhausted'),
}
const ends = (reason: 'permanent' | 'discarded-contract'): Row => ({
  first: dead(reason),
  last: dead(reason),
  asked: dead(reason),
  quickTriesOver: dead(reason),
  budgetOver: dead(reason),
  single: dead(reason),
})

/** The default decision for each class in each situation. */
const table: Record<FailureClass, Row> = {
  timeout: onOwnAttempts,
  connection: onOwnAttempts,
  unknown: onOwnAttempts,
  crash: onOwnAttempts,
  conflict: { ...onOwnAttempts, first: inPlace, last: inPlace, asked: inPlace, budgetOver: inPlace },
  'rate-limited': {
    first: retry(500, false),
    last: retry(500, false),
    asked: retry(10_500, false),
    quickTriesOver: retry(500, false),
    budgetOver: dead('exhausted'),
    single: dead('exhausted'),
  },
  invalid: ends('discarded-contract'),
  contract: ends('discarded-contract'),
  permanent: ends('permanent'),
}

const situations: Record<keyof Row, Partial<DecisionRequest>> = {
  first: {},
  last: { attempt: 5 },
  asked: { retryAfterMs: 10_000 },
  quickTriesOver: { inPlaceTries: 3 },
  budgetOver: { classFailures: Object.fromEntries(failureClasses.map((name) => [name, 24])) },
  single: { maxAttempts: 1 },
}

const verdicts: [string, Partial<DecisionRequest>, Decision][] = [
  ['permanent', { verdict: { type: 'permanent' } }, dead('permanent')],
  [
    'snooze, on the last attempt too',
    { attempt: 5, verdict: { type: 'snooze', delayMs: 7, reason: null } },
    { type: 'snooze', delayMs: 7, reason: null },
  ],
  ['cancel', { verdict: { type: 'cancel', reason: 'x' } }, { type: 'cancel', reason: 'x' }],
]

describe.each(failureClasses)('a failure of class %s', (failureClass) => {
  test.each(Object.entries(situations))(
    'with %s, the decision is that of the table',
    (situation, request) => {
      expect(decision(failureClass, request)).toEqual(table[failureClass][situation as keyof Row])
    },
  )

  test.each(verdicts)('the verdict of the handler decides: %s', (_what, request, expected) => {
    expect(decision(failureClass, request)).toEqual(expected)
  })

  test('RetryAfter sets the delay, also where the class is dead or retried in place', () => {
    const verdict = { type: 'retry-after', delayMs: 90_000 } as const
    expect(decision(failureClass, { verdict, retryAfterMs: 5 })).toEqual(
      retry(90_000, failureClass !== 'rate-limited'),
    )
    const over = { ...situations.budgetOver, verdict, attempt: 5 }
    expect(decision(failureClass, over)).toEqual(dead('exhausted'))
  })

  test('a contract can make the class dead, or retry it', () => {
    const reason = ['invalid', 'contract'].includes(failureClass) ? 'discarded-contract' : 'permanent'
    expect(decision(failureClass, rulesWith(failureClass, { action: 'dead' }))).toEqual(dead(reason))
    expect(decision(failureClass, rulesWith(failureClass, { action: 'retry' }))).toEqual(retry(30_000))
  })

  test('a contract can give the class its own attempts and backoff', () => {
    const own = rulesWith(failureClass, { action: 'retry', attempts: 3, backoff: ['1s', '2s'] })
    const after = (failures: number, request: Partial<DecisionRequest> = {}): Decision =>
      decision(failureClass, { ...own, classFailures: { [failureClass]: failures }, ...request })
    expect(after(0, { attempt: 5 })).toEqual(retry(1_000, false))
    expect(after(1)).toEqual(retry(2_000, false))
    expect(after(2)).toEqual(dead('exhausted'))
    // Set by the contract, so it also applies to a job with a single attempt.
    expect(after(0, { maxAttempts: 1 })).toEqual(retry(1_000, false))
  })

  test('a contract can retry the class in place first, and then on the job’s own attempts', () => {
    const own = rulesWith(failureClass, { action: 'in-place', attempts: 2 })
    expect(decision(failureClass, { ...own, inPlaceTries: 1, maxAttempts: 1 })).toEqual(inPlace)
    expect(decision(failureClass, { ...own, inPlaceTries: 2 })).toEqual(retry(30_000))
    expect(decision(failureClass, { ...own, inPlaceTries: 2, attempt: 5 })).toEqual(dead('exhausted'))
  })
})

describe('delays', () => {
  test('a retry in place waits for 50 to 250 ms', () => {
    expect(decision('conflict', { random: () => 0 })).toEqual({ type: 'in-place', delayMs: 50 })
    expect(decision('conflict', { random: () => 1 })).toEqual({ type: 'in-place', delayMs: 250 })
  })

  test('a rate-limited retry waits at least as long as Retry-After, and at least a second', () => {
    expect(decision('rate-limited', { retryAfterMs: 10_000, random: () => 0 })).toEqual(retry(10_000, false))
    expect(decision('rate-limited', { retryAfterMs: 10_000, random: () => 1 })).toEqual(retry(11_000, false))
    expect(decision('rate-limited', { retryAfterMs: 0, random: () => 0 })).toEqual(retry(1_000, false))
  })

  test('a rate-limited retry without Retry-After backs off up to five minutes', () => {
    const waits = [0, 1, 5, 23].map((failures) =>
      decision('rate-limited', { classFailures: { 'rate-limited': failures }, random: () => 1 }),
    )
    expect(waits).toEqual([1_000, 2_000, 32_000, 300_000].map((ms) => retry(ms, false)))
  })
})
