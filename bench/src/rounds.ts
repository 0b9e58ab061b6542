import type { Bench } from './bench.ts'
import type { Measure, Sample } from './measures/order.ts'
import { describeTuning, type System, type Tuning } from './systems/system.ts'

/** The result of the rounds for one plan: a sample for each, or why there is none. */
export type Series =
  | { type: 'measured'; samples: Sample[]; tuning: Tuning }
  | { type: 'skipped'; reason: string }
  | { type: 'failed'; reason: string }

export interface Plan {
  system: System
  measure: Measure
  /** More than one means: try them first and keep the best. */
  tunings: readonly Tuning[]
  /** A shorter measure for trying the tunings, where the real one takes long. */
  trial?: Measure
  /** An earlier plan of the same system whose tuning is kept. */
  tunedAs?: Plan
  /** The figure is a time or a cost. */
  isLessBetter?: boolean
  /** Which of the system's plans it is, where it has several. */
  at?: string
}

/**
 * Measures all plans in rounds, A B C, B C A, C A B, so that other load on the machine affects them equally and none is
 * always the first or the last. A plan that fails once is out, since its rounds would no longer compare.
 */
export async function measureInRounds<One extends Plan>(
  bench: Bench,
  plans: readonly One[],
  rounds: number = bench.sizes.rounds,
): Promise<Map<One, Series>> {
  const all = new Map<Plan, Series>()
  for (const plan of plans) all.set(plan, await prepare(bench, plan, all))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < plans.length; turn++) {
      const plan = plans[(turn + round) % plans.length]
      const series = plan && all.get(plan)
      if (plan === undefined || series?.type !== 'measured') continue
      try {
        const sample = await bench.measure(plan.system, plan.measure, series.tuning)
        series.samples.push(sample)
        const cut = sample.cutAfterSeconds === undefined ? '' : `, cut after ${sample.cutAfterSeconds} s`
        bench.say(`round ${round + 1}: ${named(plan)} ${rounded(sample.figure)}${cut}`)
      } catch (error) {
        all.set(plan, failed(bench, plan, error))
      }
    }
  }
  return all as Map<One, Series>
}

async function prepare(bench: Bench, plan: Plan, all: ReadonlyMap<Plan, Series>): Promise<Series> {
  const reason = bench.whySkipped(plan.system, plan.measure)
  if (reason !== undefined) return { type: 'skipped', reason }
  const tuned = plan.tunedAs && all.get(plan.tunedAs)
  if (tuned) return tuned.type === 'measured' ? { ...tuned, samples: [] } : tuned
  try {
    return { type: 'measured', samples: [], tuning: await best(bench, plan) }
  } catch (error) {
    return failed(bench, plan, error)
  }
}

/** Keeps the best of all passes, since noise on a machine only ever makes a system slower. */
async function best(
  bench: Bench,
  { system, measure, trial = measure, tunings, isLessBetter }: Plan,
): Promise<Tuning> {
  const [first = {}] = tunings
  if (tunings.length < 2) return first
  const key = `${system.name} ${JSON.stringify([trial, tunings])}`
  const known = bench.won.get(key)
  if (known) return known
  const sign = isLessBetter ? -1 : 1
  let kept = { tuning: first, score: -Infinity }
  for (let pass = 0; pass < bench.sizes.tuningPasses; pass++) {
    for (const tuning of tunings) {
      const { figure } = await bench.measure(system, trial, tuning)
      bench.say(`trying ${system.name}, ${describeTuning(tuning)}: ${rounded(figure)}`)
      if (sign * figure > kept.score) kept = { tuning, score: sign * figure }
    }
  }
  bench.won.set(key, kept.tuning)
  return kept.tuning
}

function failed(bench: Bench, plan: Plan, error: unknown): Series {
  const reason = error instanceof Error ? error.message : String(error)
  bench.say(`${named(plan)} failed: ${reason}`)
  return { type: 'failed', reason }
}

function named({ system, at }: Plan): string {
  return at === undefined ? system.name : `${system.name}, ${at}:`
}

/** A rate needs no decimals; a time in milliseconds does. */
function rounded(figure: number): string {
  return figure < 100 ? figure.toFixed(2) : Math.round(figure).toString()
}
