import type { System, Tuning } from '../systems/system.ts'
import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const lone: Workload = {
  name: 'lone',
  title: () => 'one caller awaiting one enqueue after another',
  unit: 'jobs/s',
  run(bench) {
    const { warmUpMs, durationMs } = bench.sizes
    return compare(bench, lone, {
      measure: { type: 'callers', callers: 1, warmUpMs, durationMs },
      tunings: (system) => [loneTuning(system)],
    })
  },
}

/** One caller needs one connection and has nothing to pipeline with. */
function loneTuning(system: System): Tuning {
  const [tuning = {}] = system.tunings.single
  return tuning.connections === undefined ? tuning : { ...tuning, connections: 1 }
}
