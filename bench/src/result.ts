import type { Sample } from './measures/order.ts'
import type { Series } from './rounds.ts'
import { median, spread } from './statistics.ts'
import { describeTuning, type System } from './systems/system.ts'

/** What one system did in one workload: a line of --json, a row of the tables. */
export interface Result {
  workload: string
  system: string
  version: string
  unit: string
  outcome: 'measured' | 'skipped' | 'failed'
  /** Why it was skipped or how it failed. */
  reason?: string
  tuning?: string
  rounds?: number[]
  median?: number
  /** From the slowest to the fastest round, as a share of the median. */
  spread?: number
  p50Ms?: number
  p99Ms?: number
  /** Rows that the stores were found to hold, all rounds together. */
  stored?: number
  /** stint ÷ this system, round by round, and their median. */
  stintRatios?: number[]
  stintRatio?: number
  /** Median over the rounds of this system ÷ no queue. */
  baselineRatio?: number
  /** Which part of a workload that has several: the depth, say. */
  at?: string
  /** Median over the rounds of this depth ÷ depth 0. */
  emptyRatio?: number
}

interface Naming {
  name: string
  unit: string
}

export function toResult({ name, unit }: Naming, system: System, series: Series): Result {
  const named = { workload: name, system: system.name, version: system.version, unit }
  if (series.type !== 'measured') return { ...named, outcome: series.type, reason: series.reason }
  const { samples, tuning } = series
  return { ...named, outcome: 'measured', tuning: describeTuning(tuning), ...summarise(samples) }
}

export function summarise(samples: readonly Sample[]) {
  const rounds = samples.map(({ perSecond }) => perSecond)
  const p50s = samples.flatMap(({ p50Ms }) => p50Ms ?? [])
  const p99s = samples.flatMap(({ p99Ms }) => p99Ms ?? [])
  return {
    rounds,
    median: median(rounds),
    spread: spread(rounds),
    ...(p50s.length > 0 && { p50Ms: median(p50s), p99Ms: median(p99s) }),
    stored: samples.reduce((sum, { stored }) => sum + stored, 0),
  }
}

/** Round by round, so that a slow minute of the machine hits both sides of a ratio. */
export function ratios(over: readonly number[] = [], under: readonly number[] = []): number[] {
  return over.flatMap((value, round) => (under[round] === undefined ? [] : value / under[round]))
}

/** Adds stint ÷ peer to every peer of the same workload. */
export function withStintRatios(results: readonly Result[]): Result[] {
  const stint = results.find(({ system }) => system === 'stint')?.rounds
  return results.map((result) => {
    const stintRatios = result.system === 'stint' ? [] : ratios(stint, result.rounds)
    return stintRatios.length === 0 ? result : { ...result, stintRatios, stintRatio: median(stintRatios) }
  })
}
