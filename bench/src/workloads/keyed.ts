import type { Bench } from '../bench.ts'
import { type Result, toResult, withBaseRatio, withStintRatios } from '../result.ts'
import { measureInRounds, type Plan, type Series } from '../rounds.ts'
import type { System } from '../systems/system.ts'
import { drainOf } from './drain.ts'
import type { Workload } from './workload.ts'

interface Variant {
  at: string
  isHeld: boolean
  keys?: number
  keyLimit?: number
}

const variants: readonly Variant[] = [
  { at: 'without keys', isHeld: false },
  { at: 'without keys, held', isHeld: true },
  { at: '1,000 keys', keys: 1_000, isHeld: false },
  { at: '100,000 keys, held', keys: 100_000, isHeld: true },
  { at: '1,000 keys, at most 10 of each', keys: 1_000, keyLimit: 10, isHeld: false },
  { at: '1,000 keys, at most 10 of each, held', keys: 1_000, keyLimit: 10, isHeld: true },
]

type FlowPlan = Plan & { at: string; variant: Variant }

/**
 * Fairness costs a probe of the index for each key that a claim asks, a limit by key costs a lock and a count for each claim,
 * and a held snapshot must not make either dearer.
 */
export const keyed: Workload = {
  name: 'keyed',
  title: ({ flowJobs, flowLimitMs }) =>
    `${flowJobs.toLocaleString('en')} waiting jobs as in drain, spread evenly over keys that take turns; *held*: while ` +
    'another session keeps a snapshot open; *at most 10 of each*: a limit of 10 running jobs of each key, which all slots ' +
    'can work under, exact in stint and not in pg-boss. *Of without keys*: the same system, held or not as the row is, in ' +
    `the same round. Cut after ${flowLimitMs / 1000} s`,
  unit: 'jobs/s',
  base: 'without keys',
  async run(bench) {
    const plans = variants.flatMap((variant) => plansOf(bench, variant))
    const series = await measureInRounds(bench, plans)
    const rows = plans.flatMap((plan) => {
      const base = plans.find((other) => isBaseOf(other, plan))
      return rowOf(plan, series.get(plan), base && series.get(base))
    })
    return withStintRatios(rows)
  },
}

/** pg-boss has keys for its limits only: they do not take turns. */
function plansOf(bench: Bench, variant: Variant): FlowPlan[] {
  const { sizes } = bench
  const { at, ...said } = variant
  const isAsked = ({ name }: System): boolean =>
    name.startsWith('stint') || (name.startsWith('pg-boss') && variant.keyLimit !== undefined)
  const common = { limitMs: sizes.flowLimitMs, ...said }
  return bench.systems.filter(isAsked).map((system) => ({
    system,
    at,
    variant,
    measure: drainOf(sizes, { ...common, jobs: sizes.flowJobs }),
    trial: drainOf(sizes, { ...common, jobs: sizes.flowTrialJobs }),
    tunings: system.tunings.drain,
  }))
}

function isBaseOf(base: FlowPlan, { system, variant }: FlowPlan): boolean {
  return (
    base.system === system &&
    base.variant.keys === undefined &&
    variant.keys !== undefined &&
    base.variant.isHeld === variant.isHeld
  )
}

function rowOf({ system, at }: FlowPlan, series: Series | undefined, base: Series | undefined): Result[] {
  if (series === undefined) return []
  const rounds = base?.type === 'measured' ? base.samples.map(({ figure }) => figure) : undefined
  return [withBaseRatio({ ...toResult(keyed, system, series), at }, rounds)]
}
