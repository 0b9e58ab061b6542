import { toResult, withBaseRatio } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import type { Workload } from './workload.ts'

/** A worker of a paused queue must not ask again and again for jobs that it may not start. */
export const paused: Workload = {
  name: 'paused',
  title: ({ pausedJobs, idleMs, idleSettleMs }) =>
    `one worker process, concurrency 10, on a paused queue with ${pausedJobs.toLocaleString('en')} ready jobs, and on an ` +
    `empty queue, for ${idleMs / 1000} s, ${idleSettleMs / 1000} s after it started; transactions as PostgreSQL counts them ` +
    '(a single statement is one); one round',
  unit: 'requests/s',
  base: 'the empty queue',
  async run(bench) {
    const { idleSettleMs: settleMs, idleMs: durationMs, pausedJobs } = bench.sizes
    const measure = { type: 'idle', settleMs, durationMs, concurrency: 10 } as const
    const systems = bench.systems.filter(({ name }) => name.startsWith('stint'))
    const pairs = systems.map((system) => {
      const empty: Plan = { system, at: 'empty', measure, tunings: [{}] }
      const full: Plan = { system, at: 'paused', measure: { ...measure, paused: pausedJobs }, tunings: [{}] }
      return { empty, full }
    })
    // Timers cause the same requests in every round.
    const series = await measureInRounds(
      bench,
      pairs.flatMap(({ empty, full }) => [empty, full]),
      1,
    )
    return pairs.flatMap(({ empty, full }) => {
      const [one, other] = [series.get(empty), series.get(full)]
      if (one === undefined || other === undefined) return []
      const first = { ...toResult(paused, empty.system, one), at: 'an empty queue' }
      const second = { ...toResult(paused, full.system, other), at: 'a paused queue' }
      return [first, withBaseRatio(second, first.rounds)]
    })
  },
}
