import type { Measure } from '../measures/order.ts'
import { toResult, withBaseRatio, withStintRatios } from '../result.ts'
import { measureInRounds } from '../rounds.ts'
import { noQueue } from '../systems/no-queue.ts'
import type { Workload } from './workload.ts'

export const inTx: Workload = {
  name: 'in-tx',
  title: () =>
    '20 connections of an app, each in small transactions: begin, insert into a table of its own, enqueue, commit',
  unit: 'commits/s',
  base: 'no queue',
  async run(bench) {
    const { warmUpMs, durationMs } = bench.sizes
    const able = bench.systems.filter(({ hasInTx }) => hasInTx)
    const measure: Measure = { type: 'transactions', clients: 20, warmUpMs, durationMs }
    // Nothing to tune: the connections are the app's and the same for all.
    const plans = [noQueue, ...able].map((system) => ({ system, measure, tunings: [{}] }))
    const series = await measureInRounds(bench, plans)
    const [baseline, ...measured] = [...series].map(([{ system }, one]) => toResult(inTx, system, one))
    const unable = bench.systems
      .filter(({ hasInTx }) => !hasInTx)
      .map((system) => toResult(inTx, system, { type: 'skipped', reason: 'no in-transaction enqueue' }))
    const compared = withStintRatios(measured).map((result) => withBaseRatio(result, baseline?.rounds))
    return [...(baseline ? [baseline] : []), ...compared, ...unable]
  },
}
