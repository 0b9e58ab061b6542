import type { Bench, Sizes } from '../bench.ts'
import type { Result } from '../result.ts'

export interface Workload {
  name: string
  /** What is done, in one line, above its table. */
  title(sizes: Sizes): string
  unit: 'jobs/s' | 'commits/s'
  /** One result per system; depth gives one per depth. */
  run(bench: Bench): Promise<Result[]>
}
