import { type Result, toResult, withBaseRatio, without } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import { drainOf } from './drain.ts'
import { ofOneProcess } from './processes.ts'
import type { Workload } from './workload.ts'

const [processes, concurrency, jobMs] = [8, 10, 200]

/** Claims under limits wait for each other, so slots must not stay empty meanwhile. */
export const slowJobs: Workload = {
  name: 'slow-jobs',
  title: ({ slowJobs: jobs, slowWarmUpJobs }) =>
    `${jobs.toLocaleString('en')} jobs of ${jobMs} ms, after ${slowWarmUpJobs.toLocaleString('en')} as a warm-up, in ` +
    `${processes} worker processes of ${concurrency} slots: ${(processes * concurrency * 1000) / jobMs} jobs/s are possible`,
  unit: 'jobs/s',
  base: 'without keys',
  async run(bench) {
    const { sizes } = bench
    const measure = drainOf(sizes, {
      jobs: sizes.slowJobs,
      warmUpJobs: sizes.slowWarmUpJobs,
      processes,
      concurrency,
      jobMs,
    })
    const systems = bench.systems.filter(({ name }) => name.startsWith('stint'))
    const pairs = systems.map((system) => {
      const base: Plan = { system, at: 'without keys', measure, tunings: [{}] }
      const limited = { ...measure, keys: 200, keyLimit: 2 }
      const plan: Plan = { ...base, at: '200 keys, at most 2 of each', measure: limited }
      return { base, plan }
    })
    const series = await measureInRounds(
      bench,
      pairs.flatMap(({ base, plan }) => [base, plan]),
    )
    return pairs.flatMap(({ base, plan }) => {
      const [first, second] = [base, plan].map((one) => rowOf(one))
      return first && second ? [first, withBaseRatio(second, first.rounds)] : []
    })

    function rowOf(plan: Plan): Result | undefined {
      const one = series.get(plan)
      const { system, at = '' } = plan
      return one && { ...without(toResult(slowJobs, system, one), ofOneProcess), at }
    }
  },
}
