import type { Measure, Sample } from './measures/order.ts'
import { runMeasurement } from './measuring-process.ts'
import type { Postgres } from './servers/postgres.ts'
import type { Redis } from './servers/redis.ts'
import type { System, Tuning } from './systems/system.ts'

/** The sizes of all workloads: a full run gives figures to publish, a quick one shows that everything works. */
export interface Sizes {
  rounds: number
  /** How often each tuning is tried; 0 takes the first one untried. */
  tuningPasses: number
  warmUpMs: number
  durationMs: number
  bulkJobs: number
  warmUpJobs: number
  depths: readonly number[]
  drainJobs: number
  /** Enough to tell one tuning of a worker from another: with fewer jobs, a tuning wins that only starts well. */
  trialJobs: number
  /** A drain that takes longer is cut, and marked. */
  drainLimitMs: number
  processCounts: readonly number[]
  processJobs: number
  /** For each process. */
  processWarmUpJobs: number
  /** Jobs that wait beside the measured ones. */
  claimDepths: readonly number[]
  claimFinished: number
  claimJobs: number
  claimWarmUpJobs: number
  memoryJobs: number
  latencySamples: number
  fireSamples: number
  trialSamples: number
  steadyMs: number
  trialSteadyMs: number
  idleSettleMs: number
  idleMs: number
  /** The drains of flow control are shorter than those of `drain`, because there are many. */
  flowJobs: number
  flowTrialJobs: number
  flowLimitMs: number
  /** Jobs of 200 ms. */
  slowJobs: number
  slowWarmUpJobs: number
  pausedJobs: number
  tokensMs: number
}

export const fullSizes: Sizes = {
  rounds: 3,
  tuningPasses: 2,
  warmUpMs: 1_000,
  durationMs: 4_000,
  bulkJobs: 100_000,
  warmUpJobs: 5_000,
  depths: [0, 1_000_000, 5_000_000],
  drainJobs: 500_000,
  trialJobs: 200_000,
  drainLimitMs: 300_000,
  processCounts: [1, 2, 4, 8],
  processJobs: 200_000,
  processWarmUpJobs: 30_000,
  claimDepths: [1_000, 100_000, 1_000_000, 5_000_000],
  claimFinished: 5_000_000,
  claimJobs: 100_000,
  claimWarmUpJobs: 20_000,
  memoryJobs: 1_000_000,
  latencySamples: 400,
  fireSamples: 200,
  trialSamples: 100,
  steadyMs: 20_000,
  trialSteadyMs: 6_000,
  // PostgreSQL may take ten seconds to count what an idle session did last.
  // A new leader does all upkeep once when it becomes leader, which is up to half a minute after its start.
  idleSettleMs: 45_000,
  idleMs: 60_000,
  flowJobs: 500_000,
  flowTrialJobs: 30_000,
  flowLimitMs: 20_000,
  slowJobs: 2_400,
  slowWarmUpJobs: 800,
  pausedJobs: 1_000_000,
  tokensMs: 6_000,
}

export const quickSizes: Sizes = {
  rounds: 1,
  tuningPasses: 0,
  warmUpMs: 150,
  durationMs: 400,
  bulkJobs: 10_000,
  warmUpJobs: 1_000,
  depths: [0, 20_000, 100_000],
  drainJobs: 20_000,
  trialJobs: 20_000,
  drainLimitMs: 60_000,
  processCounts: [1, 2, 4, 8],
  processJobs: 20_000,
  processWarmUpJobs: 2_000,
  claimDepths: [1_000, 20_000, 100_000],
  claimFinished: 100_000,
  claimJobs: 5_000,
  claimWarmUpJobs: 5_000,
  memoryJobs: 50_000,
  latencySamples: 60,
  fireSamples: 40,
  trialSamples: 60,
  steadyMs: 3_000,
  trialSteadyMs: 3_000,
  idleSettleMs: 5_000,
  idleMs: 5_000,
  flowJobs: 20_000,
  flowTrialJobs: 20_000,
  flowLimitMs: 20_000,
  slowJobs: 400,
  slowWarmUpJobs: 80,
  pausedJobs: 20_000,
  tokensMs: 2_000,
}

/** What a workload works with: the chosen systems, the sizes, and a way to measure. */
export class Bench {
  readonly systems: readonly System[]
  readonly sizes: Sizes
  readonly say: (line: string) => void
  readonly postgres: Postgres
  readonly redis: Redis | undefined
  /** Which tuning won which trial, so that a later workload with the same trial need not repeat it. */
  readonly won = new Map<string, Tuning>()

  constructor(parts: Pick<Bench, 'systems' | 'sizes' | 'say' | 'postgres' | 'redis'>) {
    this.systems = parts.systems
    this.sizes = parts.sizes
    this.say = parts.say
    this.postgres = parts.postgres
    this.redis = parts.redis
  }

  whySkipped(system: System, measure: Measure): string | undefined {
    if (system.store === 'redis' && !this.redis) return 'no redis-server'
    if (system.store === 'redis' && measure.type === 'drain' && measure.isHeld)
      return 'Redis has no snapshots'
    return system.missing ?? (needsWorker(measure) ? system.missingWorker : undefined)
  }

  /** Measures on an empty store: a new database, or a flushed Redis. */
  async measure(system: System, measure: Measure, tuning: Tuning): Promise<Sample> {
    if (system.store === 'redis') {
      await this.redis?.flush()
      return this.measureAt(this.redis?.url ?? '', { system, measure, tuning })
    }
    const database = `bench_${system.name.replace(/\W/g, '_')}`
    await this.postgres.recreate(database)
    try {
      return await this.measureAt(this.postgres.url(database), { system, measure, tuning })
    } finally {
      await this.postgres.drop(database)
    }
  }

  /** Measures on a store as it stands. */
  async measureAt(
    url: string,
    { system, measure, tuning }: { system: System; measure: Measure; tuning: Tuning },
  ): Promise<Sample> {
    await this.postgres.checkpoint()
    return runMeasurement({ system: system.name, url, tuning, measure }, limitMs(measure))
  }
}

function needsWorker(measure: Measure): boolean {
  switch (measure.type) {
    case 'callers':
    case 'transactions':
    case 'bulk':
      return false
    case 'fill':
      return measure.table === 'stint.finished'
    case 'drain':
    case 'drain-part':
    case 'latency':
    case 'steady':
    case 'fires':
    case 'idle':
    case 'tokens':
      return true
    default:
      return measure satisfies never
  }
}

/** Longer than any real measurement, including the work before and after it. */
function limitMs(measure: Measure): number {
  switch (measure.type) {
    case 'callers':
    case 'transactions':
      return 60_000 + 2 * (measure.warmUpMs + measure.durationMs)
    case 'bulk':
      return 60_000 + measure.jobs
    case 'fill':
      return 60_000 + measure.rows / 5
    case 'drain':
      return 120_000 + (measure.warmUpJobs + measure.jobs) / 2 + measure.limitMs
    case 'drain-part':
      return 240_000
    case 'latency':
      return 60_000 + measure.samples * 1_000
    case 'steady':
      return 150_000 + measure.warmUpMs + measure.durationMs
    case 'fires':
      return 90_000 + measure.samples * 1_000
    case 'tokens':
      return 60_000 + measure.durationMs
    case 'idle':
      return 60_000 + (measure.paused ?? 0) / 5 + measure.settleMs + measure.durationMs
    default:
      return measure satisfies never
  }
}
