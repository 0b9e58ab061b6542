import type { Measure } from '../measures/order.ts'
import { toResult } from '../result.ts'
import { measureInRounds } from '../rounds.ts'
import { stint } from '../systems/stint.ts'
import type { Workload } from './workload.ts'

const schedules = 5

/** Only for Stint: schedules of pg-boss and graphile-worker have minutes, not seconds. */
export const fires: Workload = {
  name: 'fires',
  title: ({ fireSamples }) =>
    `from the scheduled time to the first line of the handler; ${schedules} schedules that fire every second, a fifth of ` +
    `a second apart, in one idle stint worker process; ${fireSamples} fires`,
  unit: 'p50 ms',
  async run(bench) {
    if (!bench.systems.includes(stint)) return []
    const measure: Measure = { type: 'fires', samples: bench.sizes.fireSamples, schedules, concurrency: 10 }
    const plan = { system: stint, measure, tunings: stint.tunings.latency, isLessBetter: true }
    const series = await measureInRounds(bench, [plan])
    return [...series.values()].map((one) => toResult(fires, stint, one))
  },
}
