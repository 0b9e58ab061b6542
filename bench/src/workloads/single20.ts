import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const single20: Workload = {
  name: 'single20',
  title: () => '20 concurrent callers, each awaiting one single enqueue at a time; no worker runs',
  unit: 'jobs/s',
  run(bench) {
    const { warmUpMs, durationMs } = bench.sizes
    return compare(bench, single20, {
      measure: { type: 'callers', callers: 20, warmUpMs, durationMs },
      tunings: (system) => system.tunings.single,
    })
  },
}
