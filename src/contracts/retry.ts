import { defaultBackoff, isList } from '../core/failures/backoff.ts'
import type { Backoff } from '../core/failures/backoff.ts'
import { durationMs } from '../core/duration.ts'
import { StintError } from '../core/errors.ts'
import { failureClasses } from '../core/failures/failure.ts'
import type { FailureClass } from '../core/failures/failure.ts'
import {
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../core/options.ts'
import { defaultClassRules } from '../core/failures/retry-policy.ts'
import type { ClassRule, ClassRules } from '../core/failures/retry-policy.ts'
import type { ClassRuleOptions, RetryOptions, RetryRule } from './contract.ts'

export function resolveRetry({
  attempts = 5,
  backoff = defaultBackoff,
  classes = {},
  classify,
  ...rest
}: RetryOptions = {}): RetryRule {
  rejectUnknown('retry', rest, ['attempts', 'backoff', 'classes', 'classify'], 'retry.')
  checkBackoff('retry.backoff', backoff)
  return Object.freeze({
    attempts: attemptsOption('retry.attempts', attempts),
    backoff,
    rules: resolveRules(classes),
    ...(classify === undefined ? {} : { classify: functionOption('retry.classify', classify) }),
  })
}

export function attemptsOption(name: string, attempts: unknown): number {
  return integerOption(name, attempts, { min: 1, max: 1_000 })
}

function resolveRules(classes: NonNullable<RetryOptions['classes']>): ClassRules {
  const unknown = Object.entries(classes).filter(([name]) => !failureClasses.some((known) => known === name))
  rejectUnknown('retry.classes', Object.fromEntries(unknown), failureClasses, 'retry.classes.')
  const rules: Record<FailureClass, ClassRule> = { ...defaultClassRules }
  for (const name of failureClasses) {
    const chosen = classes[name]
    if (chosen !== undefined) rules[name] = resolveRule(name, chosen)
  }
  return Object.freeze(rules)
}

const actions = ['retry', 'dead', 'in-place'] as const

/** The attempt and its slot stay occupied during these tries. */
const mostInPlaceTries = 10

/** As with a worker's `crashLimit`. */
const mostCrashes = 100

/** An option that is left out keeps the default of the class, as long as the action is the same. */
function resolveRule(failureClass: FailureClass, chosen: ClassRuleOptions): ClassRule {
  const name = `retry.classes.${failureClass}`
  if (typeof chosen === 'string') {
    return Object.freeze({ action: oneOfOption(name, chosen, ['retry', 'dead']) })
  }
  if (!isObject(chosen)) {
    throw invalidOption(name, "'retry', 'dead' or { action, attempts, backoff }", chosen)
  }
  const { action: said, attempts: saidAttempts, backoff: saidBackoff, ...rest } = chosen
  rejectUnknown(name, rest, ['action', 'attempts', 'backoff'], `${name}.`)
  if (failureClass === 'crash') checkCrashRule(name, chosen)
  const usual = defaultClassRules[failureClass]
  const asksForMore = saidAttempts !== undefined || saidBackoff !== undefined
  // A contract that gives attempts or a backoff to a class that is dead by default wants it retried.
  const action =
    said === undefined
      ? usual.action === 'dead' && asksForMore
        ? 'retry'
        : usual.action
      : oneOfOption(`${name}.action`, said, actions)
  if (action === 'dead' && asksForMore) throw deadWithBudget(name)
  const kept = action === usual.action ? usual : undefined
  const attempts = saidAttempts ?? kept?.attempts ?? (action === 'in-place' ? 3 : undefined)
  const backoff = saidBackoff ?? kept?.backoff
  if (backoff !== undefined) checkBackoff(`${name}.backoff`, backoff)
  return Object.freeze({
    action,
    ...(attempts === undefined ? {} : { attempts: budgetOption(`${name}.attempts`, attempts, action) }),
    ...(backoff === undefined ? {} : { backoff }),
  })
}

/** The sweep, which handles crashed jobs, knows no contract and holds no attempt open: `attempts` is all it can use. */
function checkCrashRule(
  name: string,
  { action, attempts, backoff }: Exclude<ClassRuleOptions, string>,
): void {
  if (action === 'in-place') throw invalidOption(`${name}.action`, "'retry' or 'dead'", action)
  if (backoff !== undefined) throw invalidOption(`${name}.backoff`, 'left out', backoff)
  if (attempts !== undefined) integerOption(`${name}.attempts`, attempts, { min: 1, max: mostCrashes })
}

function budgetOption(name: string, attempts: unknown, action: ClassRule['action']): number {
  return action === 'in-place'
    ? integerOption(name, attempts, { min: 1, max: mostInPlaceTries })
    : attemptsOption(name, attempts)
}

function deadWithBudget(name: string): StintError {
  return new StintError(
    'invalid-option',
    `Expected \`${name}\` to have \`attempts\` and \`backoff\` only with another action than 'dead'.`,
    { issues: [{ path: name, message: "has attempts or backoff with action 'dead'" }] },
  )
}

export function checkBackoff(name: string, backoff: Backoff): void {
  if (typeof backoff === 'function') return
  if (!isObject(backoff)) throw invalidOption(name, 'a list, { base, factor, max } or a function', backoff)
  if (isList(backoff)) {
    const bad = backoff.find((wait) => durationMs(wait) === undefined)
    if (backoff.length > 0 && bad === undefined) return
    throw invalidOption(name, "a list of durations such as ['30s', '5m']", bad ?? backoff)
  }
  const { base, factor = 2, max, ...rest } = backoff
  rejectUnknown(name, rest, ['base', 'factor', 'max'], `${name}.`)
  durationOption(`${name}.base`, base, { minMs: 1 })
  if (max !== undefined) durationOption(`${name}.max`, max, { minMs: 1 })
  if (!(factor >= 1 && factor <= 100)) throw invalidOption(`${name}.factor`, 'a number from 1 to 100', factor)
}

/** For callers without types. */
function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
