import type { Bench } from '../bench.ts'
import type { Measure } from '../measures/order.ts'
import { type Result, toResult, withStintRatios } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import type { System, Tuning } from '../systems/system.ts'
import type { Workload } from './workload.ts'

interface Compared extends Pick<Plan, 'trial' | 'isLessBetter'> {
  measure: Measure
  tunings: (system: System) => readonly Tuning[]
  rounds?: number
}

/** The same measure for every system, each with the tunings it may choose from. */
export async function compare(
  bench: Bench,
  workload: Workload,
  { tunings, rounds, ...same }: Compared,
): Promise<Result[]> {
  const plans = bench.systems.map((system): Plan => ({ ...same, system, tunings: tunings(system) }))
  const series = await measureInRounds(bench, plans, rounds)
  return withStintRatios([...series].map(([{ system }, one]) => toResult(workload, system, one)))
}
