import { toResult, withBaseRatio } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import { drainOf } from './drain.ts'
import type { Workload } from './workload.ts'

const variants = [
  { at: '1,000 keys', keys: 1_000, isHeld: false },
  { at: '1,000 keys, held', keys: 1_000, isHeld: true },
  { at: '100,000 keys, held', keys: 100_000, isHeld: true },
]

/** Fairness costs a probe of the index for each key that a claim asks, and a held snapshot must not make that dearer. */
export const keyed: Workload = {
  name: 'keyed',
  title: ({ drainJobs }) =>
    `${drainJobs.toLocaleString('en')} waiting jobs as in drain, spread evenly over keys that take turns; *held*: while ` +
    'another session keeps a snapshot open. *Without keys* is the same drain of jobs without keys, in the same rounds',
  unit: 'jobs/s',
  base: 'without keys',
  async run(bench) {
    const { sizes } = bench
    const systems = bench.systems.filter(({ name }) => name.startsWith('stint'))
    const plansOf = (isHeld: boolean, keys?: number): Plan[] =>
      systems.map((system) => ({
        system,
        at: keys === undefined ? 'without keys' : `${keys} keys`,
        measure: drainOf(sizes, { jobs: sizes.drainJobs, isHeld, ...(keys !== undefined && { keys }) }),
        tunings: system.tunings.drain,
      }))
    const bases = new Map([false, true].map((isHeld) => [isHeld, plansOf(isHeld)]))
    const plans = variants.map((variant) => ({ ...variant, plans: plansOf(variant.isHeld, variant.keys) }))
    const series = await measureInRounds(bench, [
      ...[...bases.values()].flat(),
      ...plans.flatMap((variant) => variant.plans),
    ])
    return plans.flatMap(({ at, isHeld, plans: all }) =>
      all.flatMap((plan) => {
        const base = bases.get(isHeld)?.find(({ system }) => system === plan.system)
        const [one, other] = [series.get(plan), base && series.get(base)]
        if (one === undefined) return []
        const rounds = other?.type === 'measured' ? other.samples.map(({ figure }) => figure) : undefined
        return withBaseRatio({ ...toResult(keyed, plan.system, one), at }, rounds)
      }),
    )
  },
}
