import { type Result, toResult, without } from '../result.ts'
import { measureInRounds } from '../rounds.ts'
import { stint } from '../systems/stint.ts'
import { drainOf } from './drain.ts'
import type { Workload } from './workload.ts'

/** Only for Stint, because it is a promise of Stint. */
export const memory: Workload = {
  name: 'memory',
  title: ({ memoryJobs }) =>
    `resident memory of one stint worker process over ${memoryJobs.toLocaleString('en')} jobs, one round, sampled at ` +
    'each tenth',
  unit: 'jobs/s',
  async run(bench) {
    if (!bench.systems.includes(stint)) return []
    const measure = drainOf(bench.sizes, { jobs: bench.sizes.memoryJobs })
    const plan = { system: stint, measure, tunings: stint.tunings.drain }
    const series = await measureInRounds(bench, [plan], 1)
    return [...series.values()].map((one) => flatness(toResult(memory, stint, one)))
  },
}

/** From the first tenth on: the memory of the warm-up says nothing about later growth. */
function flatness(measured: Result): Result {
  const result = without(measured, ['rssMiddleMb'])
  const [first, ...rest] = result.rssTenthsMb ?? []
  return first === undefined ? result : { ...result, rssStartMb: first, rssMaxMb: Math.max(first, ...rest) }
}
