import type { BreakerRule } from './define-breaker.ts'
import type { LimitRule } from './define-limit.ts'
import type { QueueRule } from './define-queue.ts'
import type { RateRule } from './define-rate.ts'
import { invalidOption } from '../../core/options.ts'
import { peek } from '../../core/failures/thrown.ts'

/** A rule of flow control in code, as defineLimit(), defineRate(), defineBreaker() or defineQueue() returns it. */
export type FlowRule = LimitRule | RateRule | BreakerRule | QueueRule

const types = ['limit', 'rate', 'breaker', 'queue']

/**
 * Checks the rules that a worker is given: each name once, and no name for both a limit and a rate, which people address by
 * name alone. Known by their type, because a rule may come from another copy of the package.
 */
export function flowOption(rules: unknown): readonly FlowRule[] {
  if (!Array.isArray(rules))
    throw invalidOption('flow', 'a list of rules, as defineLimit() and the like return them', rules)
  const taken = new Set<string>()
  return rules.map((rule: unknown, index) => {
    const [type, name] = [peek(rule, 'type'), peek(rule, 'name')]
    if (typeof type !== 'string' || !types.includes(type) || typeof name !== 'string')
      throw invalidOption(
        `flow[${index}]`,
        'a rule, as defineLimit(), defineRate(), defineBreaker() or defineQueue() returns it',
        rule,
      )
    const address = `${type === 'rate' ? 'limit' : type} ${name}`
    if (taken.has(address)) throw invalidOption(`flow[${index}].name`, 'a name that no other rule has', name)
    taken.add(address)
    return rule as FlowRule
  })
}
