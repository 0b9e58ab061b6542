import type { Bench } from '../bench.ts'
import type { Measure } from '../measures/order.ts'
import { type Result, toResult, withStintRatios } from '../result.ts'
import { measureInRounds } from '../rounds.ts'
import type { System, Tuning } from '../systems/system.ts'
import type { Workload } from './workload.ts'

/** The same measure for every system, each with the tunings it may choose from. */
export async function compare(
  bench: Bench,
  workload: Workload,
  { measure, tunings }: { measure: Measure; tunings: (system: System) => readonly Tuning[] },
): Promise<Result[]> {
  const plans = bench.systems.map((system) => ({ system, measure, tunings: tunings(system) }))
  const series = await measureInRounds(bench, plans)
  return withStintRatios([...series].map(([system, one]) => toResult(workload, system, one)))
}
