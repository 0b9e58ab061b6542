import type { Duration } from '../../core/duration.ts'
import { nameOption } from '../../core/names.ts'
import { durationOption, integerOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import { byKeyOption } from './define-limit.ts'

export interface RateDefinition {
  /** Its unique name among limits and rates: 1 to 128 letters, digits and `_ . : / % -`. */
  name: string
  /** Tokens that come in each `per`; 1 to 1,000,000,000. */
  tokens: number
  /** From '1ms' up. */
  per: Duration
  /** Tokens in a full bucket: what may be used at once after a quiet time. @default `tokens` */
  burst?: number | undefined
  /** Tokens that jobs leave to takers outside of jobs, such as web requests. @default 0 */
  keep?: number | undefined
  /** `'key'`: one bucket for each key. @default one bucket */
  by?: 'key' | undefined
}

/** A complete, checked rate. */
export interface RateRule {
  readonly type: 'rate'
  readonly name: string
  readonly byKey: boolean
  readonly tokens: number
  readonly periodMs: number
  readonly burst: number
  readonly keep: number
}

/** Tokens of a bucket, and what a job may cost. */
export const tokensRange = { min: 1, max: 1_000_000_000 }

/** Defines a token bucket that all processes share. Give it to `new Worker({ flow })`. */
export function defineRate(definition: RateDefinition): RateRule {
  const { name, tokens, per, burst = tokens, keep = 0, by, ...rest } = definition
  rejectUnknown('defineRate()', rest, ['name', 'tokens', 'per', 'burst', 'keep', 'by'])
  // First: `burst` has it as default.
  const checkedTokens = integerOption('tokens', tokens, tokensRange)
  const checkedBurst = integerOption('burst', burst, tokensRange)
  if (keep >= checkedBurst) throw invalidOption('keep', 'less than `burst`', keep)
  return Object.freeze({
    type: 'rate',
    name: nameOption('name', name),
    byKey: byKeyOption(by),
    tokens: checkedTokens,
    periodMs: durationOption('per', per, { minMs: 1 }),
    burst: checkedBurst,
    keep: integerOption('keep', keep, { min: 0 }),
  })
}
