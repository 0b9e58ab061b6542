import type { Duration } from '../../core/duration.ts'
import { failureClasses } from '../../core/failures/failure.ts'
import type { FailureClass } from '../../core/failures/failure.ts'
import { nameOption } from '../../core/names.ts'
import {
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'

export interface BreakerDefinition {
  /** Its unique name among breakers, usually that of the downstream: `smtp`. */
  name: string
  /** The outcomes of this last span decide; '1s' to '1d'. @default '30s' */
  window?: Duration | undefined
  /** It opens at this share of failures; above 0 to 1. @default 0.5 */
  share?: number | undefined
  /** … of at least this many outcomes. @default 20 */
  least?: number | undefined
  /** How long it stays open before it is probed; it doubles each time a probe fails. @default '30s' */
  open?: Duration | undefined
  /** … up to this. @default '5m' */
  mostOpen?: Duration | undefined
  /** Jobs that probe it: all must succeed for it to close; 1 to 1,000. @default 3 */
  probes?: number | undefined
  /** The classes of failures that count. @default timeout, connection, rate-limited and unknown */
  counts?: readonly FailureClass[] | undefined
}

/** A complete, checked breaker. */
export interface BreakerRule {
  readonly type: 'breaker'
  readonly name: string
  readonly windowMs: number
  readonly share: number
  readonly least: number
  readonly openMs: number
  readonly mostOpenMs: number
  readonly probes: number
  readonly counts: readonly FailureClass[]
}

const dayMs = 86_400_000
const known = ['name', 'window', 'share', 'least', 'open', 'mostOpen', 'probes', 'counts']
const usualCounts: readonly FailureClass[] = ['timeout', 'connection', 'rate-limited', 'unknown']

/** Defines a breaker for one downstream. Give it to `new Worker({ flow })`, and name it in `breakers` of contracts. */
export function defineBreaker(definition: BreakerDefinition): BreakerRule {
  const { name, window = '30s', share = 0.5, least = 20, open = '30s', ...more } = definition
  const { mostOpen, probes = 3, counts = usualCounts, ...rest } = more
  rejectUnknown('defineBreaker()', rest, known)
  if (typeof share !== 'number' || !(share > 0 && share <= 1))
    throw invalidOption('share', 'a number above 0 and up to 1', share)
  if (!Array.isArray(counts) || counts.length === 0)
    throw invalidOption('counts', "a list of failure classes, such as ['timeout']", counts)
  const openMs = durationOption('open', open, { minMs: 100, maxMs: dayMs })
  return Object.freeze({
    type: 'breaker',
    name: nameOption('name', name),
    windowMs: durationOption('window', window, { minMs: 1_000, maxMs: dayMs }),
    share,
    least: integerOption('least', least, { min: 1, max: 1_000_000 }),
    openMs,
    mostOpenMs: durationOption('mostOpen', mostOpen ?? Math.max(openMs, 300_000), {
      minMs: openMs,
      maxMs: dayMs,
    }),
    probes: integerOption('probes', probes, { min: 1, max: 1_000 }),
    counts: Object.freeze(
      counts.map((one: unknown, index) => oneOfOption(`counts[${index}]`, one, failureClasses)),
    ),
  })
}
