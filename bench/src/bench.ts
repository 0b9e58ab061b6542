import type { Measure, Sample } from './measures/order.ts'
import { runMeasurement } from './measuring-process.ts'
import type { Postgres } from './servers/postgres.ts'
import type { Redis } from './servers/redis.ts'
import type { System, Tuning } from './systems/system.ts'

/** How much of everything: a full run gives figures to publish, a quick one shows that all of it works. */
export interface Sizes {
  rounds: number
  /** How often each tuning is tried; 0 takes the first one untried. */
  tuningPasses: number
  warmUpMs: number
  durationMs: number
  bulkJobs: number
  warmUpJobs: number
  depths: readonly number[]
}

export const fullSizes: Sizes = {
  rounds: 3,
  tuningPasses: 2,
  warmUpMs: 1_000,
  durationMs: 4_000,
  bulkJobs: 100_000,
  warmUpJobs: 5_000,
  depths: [0, 1_000_000, 5_000_000],
}

export const quickSizes: Sizes = {
  rounds: 1,
  tuningPasses: 0,
  warmUpMs: 150,
  durationMs: 400,
  bulkJobs: 10_000,
  warmUpJobs: 1_000,
  depths: [0, 20_000, 100_000],
}

/** What a workload works with: the chosen systems, the sizes, and a way to measure. */
export class Bench {
  readonly systems: readonly System[]
  readonly sizes: Sizes
  readonly say: (line: string) => void
  readonly postgres: Postgres
  readonly redis: Redis | undefined

  constructor(parts: Pick<Bench, 'systems' | 'sizes' | 'say' | 'postgres' | 'redis'>) {
    this.systems = parts.systems
    this.sizes = parts.sizes
    this.say = parts.say
    this.postgres = parts.postgres
    this.redis = parts.redis
  }

  whySkipped(system: System): string | undefined {
    if (system.store === 'redis' && !this.redis) return 'no redis-server'
    return system.missing
  }

  /** Measures on an empty store: a new database, or a flushed Redis. */
  async measure(system: System, measure: Measure, tuning: Tuning): Promise<Sample> {
    if (system.store === 'redis') {
      await this.redis?.flush()
      return this.measureAt(this.redis?.url ?? '', { system, measure, tuning })
    }
    const database = `bench_${system.name.replace(/\W/g, '_')}`
    await this.postgres.recreate(database)
    return this.measureAt(this.postgres.url(database), { system, measure, tuning })
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

function limitMs(measure: Measure): number {
  switch (measure.type) {
    case 'callers':
    case 'transactions':
      return 60_000 + 2 * (measure.warmUpMs + measure.durationMs)
    case 'bulk':
      return 60_000 + measure.jobs
    case 'fill':
      return 60_000 + measure.rows / 5
    default:
      return measure satisfies never
  }
}
