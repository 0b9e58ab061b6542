import type { Measure } from '../measures/order.ts'
import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const latency: Workload = {
  name: 'latency',
  title: ({ latencySamples }) =>
    'from the call of enqueue in one process to the first line of the handler in another whose worker is idle; ' +
    `${latencySamples} jobs, one at a time, 20 to 60 ms between them`,
  unit: 'p50 ms',
  run(bench) {
    const measure = (samples: number): Measure => ({ type: 'latency', samples, concurrency: 10 })
    return compare(bench, latency, {
      measure: measure(bench.sizes.latencySamples),
      trial: measure(bench.sizes.trialSamples),
      tunings: (system) => system.tunings.latency,
      isLessBetter: true,
    })
  },
}
