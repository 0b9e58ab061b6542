import type { Bench, Sizes } from '../bench.ts'
import type { Result } from '../result.ts'

export interface Workload {
  name: string
  /** The work in one line, above its table. */
  title(sizes: Sizes): string
  /** Of its figure; a name of another column means that the figure is that column. */
  unit: 'jobs/s' | 'commits/s' | 'p50 ms' | 'p99 ms' | 'requests/s' | 'tokens/s'
  /** What `baseRatio` compares with. */
  base?: string
  /** One result per system; a workload of several parts gives one per part. */
  run(bench: Bench): Promise<Result[]>
}
