import type { Tuning } from '../systems/system.ts'

/** What the measuring process is asked to do. A later workload adds its measure here and in measure.ts. */
export type Measure =
  | { type: 'callers'; callers: number; warmUpMs: number; durationMs: number }
  | { type: 'bulk'; jobs: number; warmUpJobs: number }
  | { type: 'transactions'; clients: number; warmUpMs: number; durationMs: number }
  | { type: 'fill'; rows: number }

export interface Order {
  system: string
  url: string
  tuning: Tuning
  measure: Measure
}

export interface Sample {
  perSecond: number
  count: number
  seconds: number
  /** Rows found in the store afterwards, warm-up included; the sample is thrown away if any is missing. */
  stored: number
  p50Ms?: number
  p99Ms?: number
}

export type Answer = { type: 'sample'; sample: Sample } | { type: 'error'; message: string }
