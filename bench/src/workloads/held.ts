import { toResult, withBaseRatio, withStintRatios } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import { drainOf } from './drain.ts'
import type { Workload } from './workload.ts'

/** Nothing that dies while the snapshot is open can be removed, and most queues scan past it on each claim. */
export const held: Workload = {
  name: 'held',
  title: ({ drainJobs }) =>
    `${drainJobs.toLocaleString('en')} waiting jobs as in drain, while another session keeps a repeatable read ` +
    'snapshot open from before the first start to the end; *unheld* is the same drain without it, in the same rounds',
  unit: 'jobs/s',
  base: 'unheld',
  async run(bench) {
    const { sizes } = bench
    const plans = bench.systems.map((system): Plan => ({
      system,
      at: 'held',
      measure: drainOf(sizes, { jobs: sizes.drainJobs, isHeld: true }),
      trial: drainOf(sizes, { jobs: sizes.trialJobs, isHeld: true }),
      tunings: system.tunings.drain,
    }))
    const unheld = new Map(
      plans.map((plan): [Plan, Plan] => [
        plan,
        {
          ...plan,
          at: 'unheld',
          measure: drainOf(sizes, { jobs: sizes.drainJobs }),
          tunedAs: plan,
        },
      ]),
    )
    // One after the other, so that both sides of a ratio share the same minutes.
    const series = await measureInRounds(
      bench,
      [...unheld].flatMap((pair) => pair),
    )
    const rows = [...unheld].flatMap(([plan, base]) => {
      const [one, other] = [series.get(plan), series.get(base)]
      if (!one) return []
      const rounds = other?.type === 'measured' ? other.samples.map(({ figure }) => figure) : undefined
      return withBaseRatio(toResult(held, plan.system, one), rounds)
    })
    return withStintRatios(rows)
  },
}
