import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const idle: Workload = {
  name: 'idle',
  title: ({ idleMs, idleSettleMs }) =>
    `one worker process, concurrency 10, on an empty queue for ${idleMs / 1000} s, ${idleSettleMs / 1000} s after it ` +
    'started, in the setting for latency with the fewest requests; transactions as PostgreSQL counts them (a single ' +
    'statement is one), commands for Redis; one round',
  unit: 'requests/s',
  run(bench) {
    const { idleSettleMs, idleMs } = bench.sizes
    return compare(bench, idle, {
      measure: { type: 'idle', settleMs: idleSettleMs, durationMs: idleMs, concurrency: 10 },
      trial: { type: 'idle', settleMs: idleSettleMs / 2, durationMs: idleMs / 3, concurrency: 10 },
      tunings: (system) => system.tunings.latency,
      isLessBetter: true,
      // Timers cause the same requests in every round.
      rounds: 1,
    })
  },
}
