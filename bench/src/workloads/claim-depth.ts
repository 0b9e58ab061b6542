import type { Bench } from '../bench.ts'
import type { Measure, Sample } from '../measures/order.ts'
import { type Result, summarise, toResult, withBaseRatio } from '../result.ts'
import { stint } from '../systems/stint.ts'
import { describeTuning } from '../systems/system.ts'
import type { Workload } from './workload.ts'

/**
 * Whether a claim costs more when many jobs wait, or many have finished. Only for Stint, because it is a promise of
 * Stint.
 */
export const claimDepth: Workload = {
  name: 'claim-depth',
  title: ({ claimJobs, claimWarmUpJobs }) =>
    `stint running ${claimJobs.toLocaleString('en')} jobs, after a warm-up of ` +
    `${claimWarmUpJobs.toLocaleString('en')}, in a queue where as many more wait, or beside as many finished ones; one ` +
    'process, concurrency 100',
  unit: 'jobs/s',
  base: 'the first',
  async run(bench) {
    if (!bench.systems.includes(stint)) return []
    const skipped = bench.whySkipped(stint, measureOf(bench))
    if (skipped !== undefined) return [toResult(claimDepth, stint, { type: 'skipped', reason: skipped })]
    const places = placesOf(bench)
    try {
      return await measurePlaces(bench, places)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      bench.say(`stint failed: ${reason}`)
      return [toResult(claimDepth, stint, { type: 'failed', reason })]
    } finally {
      for (const { database } of places) await bench.postgres.drop(database)
    }
  },
}

/** A database that is filled once and topped up before each measurement. */
interface Place {
  at: string
  database: string
  waiting: number
  finished: number
}

function placesOf({ sizes: { claimDepths, claimFinished } }: Bench): Place[] {
  const deep = claimDepths.map((waiting) => ({
    at: `${waiting.toLocaleString('en')} waiting`,
    database: `bench_claim_${waiting}`,
    waiting,
    finished: 0,
  }))
  const old = {
    at: `${claimFinished.toLocaleString('en')} finished`,
    database: 'bench_claim_finished',
    waiting: claimDepths[0] ?? 0,
    finished: claimFinished,
  }
  return [...deep, old]
}

async function measurePlaces(bench: Bench, places: readonly Place[]): Promise<Result[]> {
  const samples = new Map<Place, Sample[]>(places.map((place) => [place, []]))
  for (const { database } of places) await bench.postgres.recreate(database)
  for (let round = 0; round < bench.sizes.rounds; round++) {
    for (const place of places) {
      await fill(bench, place)
      const sample = await at(bench, place, measureOf(bench))
      bench.say(`round ${round + 1}: beside ${place.at} ${Math.round(sample.figure)}`)
      samples.get(place)?.push(sample)
    }
  }
  const [first = []] = samples.values()
  return places.map((place) => {
    const result: Result = {
      workload: claimDepth.name,
      system: stint.name,
      version: stint.version,
      unit: claimDepth.unit,
      outcome: 'measured',
      at: place.at,
      tuning: describeTuning({}),
      ...summarise(samples.get(place) ?? []),
    }
    return withBaseRatio(
      result,
      first.map(({ figure }) => figure),
    )
  })
}

function measureOf({ sizes: { claimJobs, claimWarmUpJobs } }: Bench) {
  return { type: 'drain-part', jobs: claimJobs, warmUpJobs: claimWarmUpJobs, concurrency: 100 } as const
}

/**
 * Tops up the waiting jobs beside those that will run, and those. Finished jobs first, because making one takes a worker.
 */
async function fill(bench: Bench, place: Place): Promise<void> {
  const { claimJobs, claimWarmUpJobs } = bench.sizes
  const finished: Measure = { type: 'fill', table: 'stint.finished', rows: place.finished }
  const waiting: Measure = {
    type: 'fill',
    table: 'stint.job',
    rows: place.waiting + claimJobs + claimWarmUpJobs,
  }
  const seconds = place.finished > 0 ? (await at(bench, place, finished)).seconds : 0
  const more = (await at(bench, place, waiting)).seconds
  bench.say(`filled for ${place.at} in ${Math.round(seconds + more)} s`)
}

function at(bench: Bench, { database }: Place, measure: Measure): Promise<Sample> {
  return bench.measureAt(bench.postgres.url(database), { system: stint, measure, tuning: {} })
}
