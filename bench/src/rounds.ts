import type { Bench } from './bench.ts'
import type { Measure, Sample } from './measures/order.ts'
import { describeTuning, type System, type Tuning } from './systems/system.ts'

/** What the rounds gave for one system: a sample for each, or why there is none. */
export type Series =
  | { type: 'measured'; samples: Sample[]; tuning: Tuning }
  | { type: 'skipped'; reason: string }
  | { type: 'failed'; reason: string }

export interface Plan {
  system: System
  measure: Measure
  /** More than one means: try them first and keep the fastest. */
  tunings: readonly Tuning[]
}

/**
 * Measures all plans in rounds, A B C, B C A, C A B, so that whatever else the machine does meets them alike and
 * none is always the first or the last. A system that fails once is out, since its rounds would no longer compare.
 */
export async function measureInRounds(bench: Bench, plans: readonly Plan[]): Promise<Map<System, Series>> {
  const all = new Map<System, Series>()
  for (const plan of plans) {
    const reason = bench.whySkipped(plan.system)
    all.set(plan.system, reason === undefined ? await prepare(bench, plan) : { type: 'skipped', reason })
  }
  for (let round = 0; round < bench.sizes.rounds; round++) {
    for (let turn = 0; turn < plans.length; turn++) {
      const plan = plans[(turn + round) % plans.length]
      const series = plan && all.get(plan.system)
      if (plan === undefined || series?.type !== 'measured') continue
      try {
        const sample = await bench.measure(plan.system, plan.measure, series.tuning)
        series.samples.push(sample)
        bench.say(`round ${round + 1}: ${plan.system.name} ${Math.round(sample.perSecond)}/s`)
      } catch (error) {
        all.set(plan.system, failed(bench, plan.system, error))
      }
    }
  }
  return all
}

async function prepare(bench: Bench, plan: Plan): Promise<Series> {
  try {
    return { type: 'measured', samples: [], tuning: await fastest(bench, plan) }
  } catch (error) {
    return failed(bench, plan.system, error)
  }
}

/** Keeps the best of all passes, since noise on a machine only ever makes a system slower. */
async function fastest(bench: Bench, { system, measure, tunings }: Plan): Promise<Tuning> {
  const [first = {}] = tunings
  let best = { tuning: first, perSecond: 0 }
  if (tunings.length < 2) return first
  for (let pass = 0; pass < bench.sizes.tuningPasses; pass++) {
    for (const tuning of tunings) {
      const { perSecond } = await bench.measure(system, measure, tuning)
      bench.say(`trying ${system.name}, ${describeTuning(tuning)}: ${Math.round(perSecond)}/s`)
      if (perSecond > best.perSecond) best = { tuning, perSecond }
    }
  }
  return best.tuning
}

function failed(bench: Bench, system: System, error: unknown): Series {
  const reason = error instanceof Error ? error.message : String(error)
  bench.say(`${system.name} failed: ${reason}`)
  return { type: 'failed', reason }
}
