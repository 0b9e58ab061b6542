import type { Sizes } from '../bench.ts'
import type { DrainMeasure } from '../measures/order.ts'
import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const drain: Workload = {
  name: 'drain',
  title: ({ drainJobs }) =>
    `${drainJobs.toLocaleString('en')} waiting jobs that do nothing, one worker process, concurrency 100, from the ` +
    'first start until the store has none left; history is kept by all but graphile-worker, which has none',
  unit: 'jobs/s',
  run(bench) {
    return compare(bench, drain, {
      measure: drainOf(bench.sizes, { jobs: bench.sizes.drainJobs }),
      trial: drainOf(bench.sizes, { jobs: bench.sizes.trialJobs }),
      tunings: (system) => system.tunings.drain,
    })
  },
}

/** What all drains have in common, unless they say otherwise. */
export function drainOf({ drainLimitMs }: Sizes, said: Pick<DrainMeasure, 'jobs'> & Partial<DrainMeasure>) {
  return {
    type: 'drain',
    warmUpJobs: 0,
    processes: 1,
    concurrency: 100,
    isHeld: false,
    limitMs: drainLimitMs,
    ...said,
  } satisfies DrainMeasure
}
