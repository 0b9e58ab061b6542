import { nameOption } from '../../core/names.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'

export const limitPolicies = ['wait', 'drop-newest', 'latest-wins'] as const
/** What happens to a job that finds no room. */
export type LimitPolicy = (typeof limitPolicies)[number]

/** A queue, or some kinds of it. */
export interface Cover {
  queue: string
  /** @default all kinds */
  kinds?: readonly string[] | undefined
}

export interface LimitDefinition {
  /** Its unique name among limits and rates: 1 to 128 letters, digits and `_ . : / % -`. */
  name: string
  /** What it limits: the jobs of all these together. */
  covers: readonly Cover[]
  /** `'key'`: each key counts by itself, and jobs without a key are not limited. @default all jobs count together */
  by?: 'key' | undefined
  /** Jobs that run at once, at most; 0: none starts. */
  max: number
  /** Maximums by tier; `stint.limits.setKey()` puts a key into a tier. Needs `by: 'key'`. */
  tiers?: Readonly<Record<string, number>> | undefined
  /**
   * `wait`: the job stays ready; `drop-newest`: it is cancelled; `latest-wins`: older ready jobs are cancelled and the oldest
   * running one is asked to stop. @default 'wait'
   */
  onLimit?: LimitPolicy | undefined
}

/** A complete, checked concurrency limit. */
export interface LimitRule {
  readonly type: 'limit'
  readonly name: string
  readonly covers: readonly { readonly queue: string; readonly kinds: readonly string[] | null }[]
  readonly byKey: boolean
  readonly max: number
  readonly tiers: Readonly<Record<string, number>> | null
  readonly onLimit: LimitPolicy
}

/** Running jobs that one limit may allow. */
export const maxRange = { min: 0, max: 1_000_000 }
const mostKinds = 1_000
const mostTiers = 100

/** Defines a limit on how many jobs run at once, in all processes together. Give it to `new Worker({ flow })`. */
export function defineLimit(definition: LimitDefinition): LimitRule {
  const { name, covers, by, max, tiers, onLimit = 'wait', ...rest } = definition
  rejectUnknown('defineLimit()', rest, ['name', 'covers', 'by', 'max', 'tiers', 'onLimit'])
  // That of the order by key (synchronise.ts).
  if (typeof name === 'string' && name.endsWith('/order'))
    throw invalidOption('name', "a name that does not end with '/order'", name)
  const byKey = byKeyOption(by)
  if (tiers !== undefined && !byKey)
    throw invalidOption('tiers', "left out unless `by` is 'key'", Object.keys(tiers))
  return Object.freeze({
    type: 'limit',
    name: nameOption('name', name),
    covers: coversOption(covers),
    byKey,
    max: integerOption('max', max, maxRange),
    tiers: tiers === undefined ? null : tiersOption(tiers),
    onLimit: oneOfOption('onLimit', onLimit, limitPolicies),
  })
}

/** Whether each key counts by itself. */
export function byKeyOption(by: unknown): boolean {
  if (by !== undefined) oneOfOption('by', by, ['key'])
  return by !== undefined
}

function coversOption(covers: unknown): LimitRule['covers'] {
  if (!Array.isArray(covers) || covers.length === 0 || covers.length > 100)
    throw invalidOption('covers', "a list of 1 to 100 queues, such as [{ queue: 'media' }]", covers)
  const queues = new Set<string>()
  return Object.freeze(
    covers.map((cover: Cover, index) => {
      const path = `covers[${index}]`
      if (typeof cover !== 'object' || (cover as unknown) === null)
        throw invalidOption(path, "an object such as { queue: 'media' }", cover)
      const { queue, kinds, ...rest } = cover
      rejectUnknown(path, rest, ['queue', 'kinds'], `${path}.`)
      const checked = nameOption(`${path}.queue`, queue)
      if (queues.has(checked)) throw invalidOption(`${path}.queue`, 'a queue that is not named before', queue)
      queues.add(checked)
      return Object.freeze({ queue: checked, kinds: kindsOption(`${path}.kinds`, kinds) })
    }),
  )
}

function kindsOption(path: string, kinds: unknown): readonly string[] | null {
  if (kinds === undefined) return null
  if (!Array.isArray(kinds) || kinds.length === 0 || kinds.length > mostKinds)
    throw invalidOption(path, `a list of 1 to ${mostKinds} kinds`, kinds)
  return Object.freeze(kinds.map((kind: unknown, index) => nameOption(`${path}[${index}]`, kind)))
}

function tiersOption(tiers: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const entries = Object.entries(tiers)
  if (entries.length > mostTiers)
    throw invalidOption('tiers', `an object of at most ${mostTiers} tiers`, entries.length)
  for (const [tier, max] of entries) {
    nameOption('tiers', tier)
    integerOption(`tiers.${tier}`, max, maxRange)
  }
  return Object.freeze({ ...tiers })
}
