import type { Bench } from '../bench.ts'
import type { Measure, Sample } from '../measures/order.ts'
import { type Result, summarise, toResult, withBaseRatio } from '../result.ts'
import { stint } from '../systems/stint.ts'
import { describeTuning, type Tuning } from '../systems/system.ts'
import type { Workload } from './workload.ts'

/** Whether an enqueue costs more when many jobs already wait. Only for Stint, because it is a promise of Stint. */
export const depth: Workload = {
  name: 'depth',
  title: () =>
    'stint with a queue that is already deep: 20 callers and bulk again, beside the given number of waiting jobs',
  unit: 'jobs/s',
  base: 'depth 0',
  async run(bench) {
    if (!bench.systems.includes(stint)) return []
    const skipped = bench.whySkipped(stint, { type: 'fill', table: 'stint.job', rows: 0 })
    if (skipped !== undefined) return [failure('skipped', skipped)]
    try {
      return await measureDepths(bench)
    } catch (error) {
      return [failure('failed', error instanceof Error ? error.message : String(error))]
    } finally {
      for (const rows of bench.sizes.depths) await bench.postgres.drop(database(rows))
    }
  },
}

interface Part {
  name: string
  measure: Measure
  tuning: Tuning
}

async function measureDepths(bench: Bench): Promise<Result[]> {
  const { bulkJobs, warmUpJobs, warmUpMs, durationMs, depths, rounds } = bench.sizes
  const parts: Part[] = [
    { name: 'single20', measure: { type: 'callers', callers: 20, warmUpMs, durationMs }, tuning: {} },
    {
      name: 'bulk',
      measure: { type: 'bulk', jobs: bulkJobs, warmUpJobs },
      tuning: stint.tunings.bulk[0] ?? {},
    },
  ]
  for (const rows of depths) await fillTo(bench, rows)
  const samples = new Map<string, Sample[]>()
  for (let round = 0; round < rounds; round++) {
    for (const rows of depths) {
      for (const part of parts) {
        // The jobs enqueued on top of a deep queue are a small share of it; an empty one must be made anew.
        if (rows === 0) await fillTo(bench, rows)
        const { measure, tuning } = part
        const sample = await bench.measureAt(bench.postgres.url(database(rows)), {
          system: stint,
          measure,
          tuning,
        })
        bench.say(`round ${round + 1}: ${part.name} beside ${rows} rows ${Math.round(sample.figure)}/s`)
        const key = `${part.name} ${rows}`
        samples.set(key, [...(samples.get(key) ?? []), sample])
      }
    }
  }
  return parts.flatMap((part) => toResults(part, depths, samples))
}

async function fillTo(bench: Bench, rows: number): Promise<void> {
  await bench.postgres.recreate(database(rows))
  if (rows === 0) return
  const measure: Measure = { type: 'fill', table: 'stint.job', rows }
  const { seconds } = await bench.measureAt(bench.postgres.url(database(rows)), {
    system: stint,
    measure,
    tuning: {},
  })
  bench.say(`filled stint.job to ${rows} rows in ${Math.round(seconds)} s`)
}

function toResults(part: Part, depths: readonly number[], samples: ReadonlyMap<string, Sample[]>): Result[] {
  const empty = summarise(samples.get(`${part.name} ${depths[0]}`) ?? []).rounds
  return depths.map((rows) => {
    const summary = summarise(samples.get(`${part.name} ${rows}`) ?? [])
    const result: Result = {
      workload: 'depth',
      system: stint.name,
      version: stint.version,
      unit: 'jobs/s',
      outcome: 'measured',
      at: `${part.name}, ${rows.toLocaleString('en')} waiting`,
      tuning: describeTuning(part.tuning),
      ...summary,
    }
    return withBaseRatio(result, empty)
  })
}

function failure(type: 'skipped' | 'failed', reason: string): Result {
  return toResult(depth, stint, { type, reason })
}

function database(rows: number): string {
  return `bench_depth_${rows}`
}
