import type { Duration } from '../../core/duration.ts'
import { nameOption } from '../../core/names.ts'
import {
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'
import type { RetryBudget } from '../../jobs/queue-rules.ts'

export const fullPolicies = ['reject', 'shed', 'warn'] as const
/** What happens to an enqueue into a full queue. */
export type FullPolicy = (typeof fullPolicies)[number]

export interface RetryBudgetOptions {
  /** Retries as a share of first attempts; 0 to 1. @default 0.2 */
  share?: number | undefined
  /** Retries that are allowed in each window in any case. @default 10 */
  least?: number | undefined
  /** '1s' to '1h'. @default '1m' */
  window?: Duration | undefined
}

export interface QueueDefinition {
  name: string
  /** Jobs that wait, at most. */
  maxDepth?: number | undefined
  /** The age of the oldest ready job, at most. */
  maxAge?: Duration | undefined
  /** The same for each key. */
  perKey?: { maxDepth: number } | undefined
  /**
   * `reject`: an enqueue throws `queue-full`; `shed`: only enqueues of low priority do, more of them the fuller it is; `warn`:
   * all are stored, and `pressure()` says so. @default 'reject'
   */
  whenFull?: FullPolicy | undefined
  /** Spreads the retries of this queue: a synchronised outage comes back at this pace. */
  retryBudget?: RetryBudgetOptions | undefined
}

export interface Pressure {
  readonly maxDepth: number | null
  readonly maxAgeMs: number | null
  readonly keyMaxDepth: number | null
  readonly whenFull: FullPolicy
}

/** A complete, checked queue. */
export interface QueueRule {
  readonly type: 'queue'
  readonly name: string
  /** Null: it takes any number of jobs. */
  readonly pressure: Pressure | null
  readonly retryBudget: RetryBudget | null
}

const depthRange = { min: 1, max: 1_000_000_000 }

/** Defines how full a queue may get and how fast its retries come. Give it to `new Worker({ flow })`. */
export function defineQueue(definition: QueueDefinition): QueueRule {
  const { name, maxDepth, maxAge, perKey, whenFull = 'reject', retryBudget, ...rest } = definition
  rejectUnknown('defineQueue()', rest, ['name', 'maxDepth', 'maxAge', 'perKey', 'whenFull', 'retryBudget'])
  const hasPressure = maxDepth !== undefined || maxAge !== undefined || perKey !== undefined
  return Object.freeze({
    type: 'queue',
    name: nameOption('name', name),
    pressure: hasPressure
      ? Object.freeze({
          maxDepth: maxDepth === undefined ? null : integerOption('maxDepth', maxDepth, depthRange),
          maxAgeMs: maxAge === undefined ? null : durationOption('maxAge', maxAge, { minMs: 1_000 }),
          keyMaxDepth: perKey === undefined ? null : perKeyOption(perKey),
          whenFull: oneOfOption('whenFull', whenFull, fullPolicies),
        })
      : null,
    retryBudget: retryBudget === undefined ? null : retryBudgetOption(retryBudget),
  })
}

function perKeyOption(perKey: { maxDepth: number }): number {
  if (typeof perKey !== 'object' || (perKey as unknown) === null)
    throw invalidOption('perKey', 'an object such as { maxDepth: 5000 }', perKey)
  const { maxDepth, ...rest } = perKey
  rejectUnknown('perKey', rest, ['maxDepth'], 'perKey.')
  return integerOption('perKey.maxDepth', maxDepth, depthRange)
}

function retryBudgetOption(budget: RetryBudgetOptions): RetryBudget {
  if (typeof budget !== 'object' || (budget as unknown) === null)
    throw invalidOption('retryBudget', 'an object such as { share: 0.2 }', budget)
  const { share = 0.2, least = 10, window = '1m', ...rest } = budget
  rejectUnknown('retryBudget', rest, ['share', 'least', 'window'], 'retryBudget.')
  if (typeof share !== 'number' || !(share >= 0 && share <= 1))
    throw invalidOption('retryBudget.share', 'a number from 0 to 1', share)
  return Object.freeze({
    share,
    least: integerOption('retryBudget.least', least, { min: 1, max: 1_000_000 }),
    windowMs: durationOption('retryBudget.window', window, { minMs: 1_000, maxMs: 3_600_000 }),
  })
}
