import type { Measure } from '../measures/order.ts'
import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

const perSecond = 500

export const steady: Workload = {
  name: 'steady',
  title: ({ steadyMs }) =>
    `${perSecond} single enqueues a second at an even pace for ${steadyMs / 1000} s, from the call of enqueue in one ` +
    'process to the first line of the handler in another; one worker process, concurrency 10',
  unit: 'p99 ms',
  run(bench) {
    const { warmUpMs, steadyMs, trialSteadyMs } = bench.sizes
    const measure = (durationMs: number): Measure => ({
      type: 'steady',
      perSecond,
      warmUpMs: 2 * warmUpMs,
      durationMs,
      concurrency: 10,
    })
    return compare(bench, steady, {
      measure: measure(steadyMs),
      trial: measure(trialSteadyMs),
      tunings: (system) => system.tunings.latency,
      isLessBetter: true,
    })
  },
}
