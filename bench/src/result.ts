import type { Details, Sample } from './measures/order.ts'
import type { Series } from './rounds.ts'
import { median, spread } from './statistics.ts'
import { describeTuning, type System } from './systems/system.ts'

/** What one system did in one workload: a line of --json, a row of the tables. The details are medians as well. */
export interface Result extends Details {
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
  /** From the lowest to the highest round, as a share of the median. */
  spread?: number
  /** Rows that the stores were found to hold, all rounds together. */
  stored?: number
  /** stint ÷ this system, round by round, and their median. */
  stintRatios?: number[]
  stintRatio?: number
  /** Median over the rounds of this ÷ what the workload calls its base: no queue, depth 0, one process, unheld. */
  baseRatio?: number
  /** Which part of a workload that has several: the depth, say. */
  at?: string
  rssTenthsMb?: number[]
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

/** A result less some of what it has. */
export function without(result: Result, names: readonly (keyof Details | 'rssTenthsMb')[]): Result {
  const rest = { ...result }
  for (const name of names) Reflect.deleteProperty(rest, name)
  return rest
}

export function summarise(samples: readonly Sample[]) {
  const rounds = samples.map(({ figure }) => figure)
  const tenths = samples.findLast(({ rssTenthsMb }) => rssTenthsMb !== undefined)?.rssTenthsMb
  return {
    rounds,
    median: median(rounds),
    spread: spread(rounds),
    ...medians(samples),
    ...(tenths && { rssTenthsMb: tenths }),
    stored: samples.reduce((sum, { stored }) => sum + stored, 0),
  }
}

const detailNames = [
  'p50Ms',
  'p90Ms',
  'p99Ms',
  'maxMs',
  'firstTenth',
  'lastTenth',
  'lastOfFirst',
  'fromCold',
  'cpuMicrosPerJob',
  'cpuPercent',
  'walBytesPerJob',
  'quotaShare',
  'rssStartMb',
  'rssMiddleMb',
  'rssEndMb',
  'rssMaxMb',
  'cutAfterSeconds',
] as const satisfies (keyof Details)[]

function medians(samples: readonly Details[]): Details {
  const details: Details = {}
  for (const name of detailNames) {
    const values = samples.flatMap((sample) => sample[name] ?? [])
    if (values.length > 0) details[name] = median(values)
  }
  return details
}

/** Round by round, so that a slow minute of the machine hits both sides of a ratio. */
export function ratios(over: readonly number[] = [], under: readonly number[] = []): number[] {
  return over.flatMap((value, round) => (under[round] ? value / under[round] : []))
}

/** Adds stint ÷ peer to every peer of the same workload, and of the same part of it. */
export function withStintRatios(results: readonly Result[]): Result[] {
  return results.map((result) => {
    const stint = results.find(({ system, at }) => system === 'stint' && at === result.at)?.rounds
    const stintRatios = result.system === 'stint' ? [] : ratios(stint, result.rounds)
    return stintRatios.length === 0 ? result : { ...result, stintRatios, stintRatio: median(stintRatios) }
  })
}

export function withBaseRatio(result: Result, base: readonly number[] | undefined): Result {
  const ofBase = ratios(result.rounds, base)
  return ofBase.length === 0 ? result : { ...result, baseRatio: median(ofBase) }
}
