import { toResult } from '../result.ts'
import { measureInRounds, type Plan } from '../rounds.ts'
import type { Workload } from './workload.ts'

const rate = { name: 'bench', perSecond: 5_000, burst: 500 }
const [processes, callers] = [8, 200]

/** Processes take tokens ahead of their use, and must neither use more than the bucket allows nor leave tokens unused. */
export const tokens: Workload = {
  name: 'tokens',
  title: ({ tokensMs }) =>
    `${processes} processes take single tokens of one bucket of ${rate.perSecond.toLocaleString('en')} tokens a second, ` +
    `burst ${rate.burst}, with ${callers} callers each that wait for them, for ${tokensMs / 1000} s. A figure counts only if ` +
    'at no time more was granted than burst + rate × time',
  unit: 'tokens/s',
  async run(bench) {
    const measure = { type: 'tokens', rate, processes, callers, durationMs: bench.sizes.tokensMs } as const
    const plans = bench.systems
      .filter(({ name }) => name.startsWith('stint'))
      .map((system): Plan => ({ system, measure, tunings: [{}] }))
    const series = await measureInRounds(bench, plans)
    return [...series].map(([{ system }, one]) => toResult(tokens, system, one))
  },
}
