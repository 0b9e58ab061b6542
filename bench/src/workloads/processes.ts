import { type Result, toResult, withBaseRatio, withStintRatios, without } from '../result.ts'
import { measureInRounds, type Plan, type Series } from '../rounds.ts'
import { drainOf } from './drain.ts'
import type { Workload } from './workload.ts'

/** For the systems on PostgreSQL, where several workers claim from the same rows. */
export const processes: Workload = {
  name: 'processes',
  title: ({ processJobs, processWarmUpJobs }) =>
    `several worker processes on one queue, concurrency 100 in each, all started at once; they share the cores with ` +
    `the server. ${processJobs.toLocaleString('en')} empty jobs are measured, after ` +
    `${processWarmUpJobs.toLocaleString('en')} per process as a warm-up; "from cold" includes the warm-up`,
  unit: 'jobs/s',
  base: '1 process',
  async run(bench) {
    const { sizes } = bench
    const able = bench.systems.filter(({ store }) => store === 'postgres')
    const plans = able.flatMap((system) => {
      const [one, ...more] = sizes.processCounts.map((count): Plan => ({
        system,
        at: count === 1 ? '1 process' : `${count} processes`,
        measure: drainOf(sizes, {
          jobs: sizes.processJobs,
          processes: count,
          warmUpJobs: sizes.processWarmUpJobs * count,
        }),
        trial: drainOf(sizes, { jobs: sizes.trialJobs, processes: count }),
        tunings: system.tunings.drain,
      }))
      return one ? [one, ...more.map((plan) => ({ ...plan, tunedAs: one }))] : []
    })
    const series = await measureInRounds(bench, plans)
    const rows = [...series].map(([plan, one]) => toRow(plan, one))
    const compared = rows.map((row) => {
      const base = rows.find(({ system }) => system === row.system)
      return base === row ? row : withBaseRatio(row, base?.rounds)
    })
    // A system that was not measured at all says so once.
    return withStintRatios(compared).filter(({ outcome, at }) => outcome !== 'skipped' || at === '1 process')
  },
}

/** What a measurement of several processes cannot say. */
export const ofOneProcess = [
  'firstTenth',
  'lastTenth',
  'lastOfFirst',
  'rssStartMb',
  'rssMiddleMb',
  'rssMaxMb',
  'rssEndMb',
  'rssTenthsMb',
] as const

/** Without the figures that only a single process has. */
function toRow({ system, at = '' }: Plan, series: Series): Result {
  return { ...without(toResult(processes, system, series), ofOneProcess), at }
}
