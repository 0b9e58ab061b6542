import type { Tuning } from '../systems/system.ts'

/** What the measuring process is asked to do. A later workload adds its measure here and in measure.ts. */
export type Measure =
  | { type: 'callers'; callers: number; warmUpMs: number; durationMs: number }
  | { type: 'bulk'; jobs: number; warmUpJobs: number }
  | { type: 'transactions'; clients: number; warmUpMs: number; durationMs: number }
  | { type: 'fill'; table: 'stint.job' | 'stint.finished'; rows: number }
  | DrainMeasure
  | { type: 'drain-part'; jobs: number; warmUpJobs: number; concurrency: number }
  | { type: 'latency'; samples: number; concurrency: number }
  | { type: 'steady'; perSecond: number; warmUpMs: number; durationMs: number; concurrency: number }
  | { type: 'fires'; samples: number; schedules: number; concurrency: number }
  | { type: 'idle'; settleMs: number; durationMs: number; concurrency: number }

export interface DrainMeasure {
  type: 'drain'
  jobs: number
  /** Run before those that count, by all processes together. */
  warmUpJobs: number
  processes: number
  /** Of each process. */
  concurrency: number
  /** Another session keeps a snapshot open from before the first start to the end. */
  isHeld: boolean
  /** Then what was done by then is the answer, and marked. */
  limitMs: number
}

export interface Order {
  system: string
  url: string
  tuning: Tuning
  measure: Measure
}

/** What a measurement may say beside its figure; the report has a column for each. All are numbers, for medians. */
export interface Details {
  p50Ms?: number
  p90Ms?: number
  p99Ms?: number
  maxMs?: number
  /** Jobs a second over the first and the last tenth of the runs, and the last as a share of the first. */
  firstTenth?: number
  lastTenth?: number
  lastOfFirst?: number
  /** Jobs a second with the warm-up, from the first start on. */
  fromCold?: number
  /** All threads of the worker processes, while the jobs ran that count. */
  cpuMicrosPerJob?: number
  cpuPercent?: number
  walBytesPerJob?: number
  rssStartMb?: number
  rssMiddleMb?: number
  rssEndMb?: number
  rssMaxMb?: number
  /** The time limit that ended the measurement before the work was done. */
  cutAfterSeconds?: number
}

export interface Sample extends Details {
  /** In the unit of the workload: jobs a second, or milliseconds. */
  figure: number
  count: number
  seconds: number
  /** Rows found in the store afterwards, warm-up included; the sample is thrown away if any is missing. */
  stored: number
  /** At each tenth of the runs, in MB. */
  rssTenthsMb?: number[]
}

export type Answer = { type: 'sample'; sample: Sample } | { type: 'error'; message: string }
