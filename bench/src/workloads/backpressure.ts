import { toResult, withBaseRatio } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import type { Workload } from './workload.ts'

const maxDepth = 10_000_000

/** A producer decides in memory whether a queue is full, so a rule that refuses nothing must not slow enqueues down. */
export const backpressure: Workload = {
  name: 'backpressure',
  title: () =>
    '20 concurrent callers, each awaiting one single enqueue at a time, into a queue without a rule and into one with a ' +
    `\`maxDepth\` of ${maxDepth.toLocaleString('en')}, which is not reached; no worker runs. Three times as many rounds as the others`,
  unit: 'jobs/s',
  base: 'without a rule',
  async run(bench) {
    const { warmUpMs, durationMs } = bench.sizes
    const measure = { type: 'callers', callers: 20, warmUpMs, durationMs } as const
    const systems = bench.systems.filter(({ name }) => name.startsWith('stint'))
    const pairs = systems.map((system) => {
      const base: Plan = { system, at: 'without a rule', measure, tunings: system.tunings.single }
      const plan: Plan = { ...base, at: 'with maxDepth', measure: { ...measure, maxDepth } }
      return { base, plan }
    })
    const series = await measureInRounds(
      bench,
      pairs.flatMap(({ base, plan }) => [base, plan]),
      // A difference of 2 % is smaller than the spread of a few rounds.
      3 * bench.sizes.rounds,
    )
    return pairs.flatMap(({ base, plan }) => {
      const [one, other] = [series.get(base), series.get(plan)]
      if (one === undefined || other === undefined) return []
      const first = { ...toResult(backpressure, base.system, one), at: 'without a rule' }
      const second = { ...toResult(backpressure, plan.system, other), at: 'with maxDepth' }
      return [first, withBaseRatio(second, first.rounds)]
    })
  },
}
