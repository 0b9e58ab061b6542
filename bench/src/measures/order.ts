import type { Rate, Tuning } from '../systems/system.ts'

/** The orders to the measuring process. A new workload adds its measure here and in measure.ts. */
export type Measure =
  | CallersMeasure
  | { type: 'bulk'; jobs: number; warmUpJobs: number }
  | { type: 'transactions'; clients: number; warmUpMs: number; durationMs: number }
  | { type: 'fill'; table: 'stint.job' | 'stint.finished'; rows: number }
  | DrainMeasure
  | { type: 'drain-part'; jobs: number; warmUpJobs: number; concurrency: number }
  | { type: 'latency'; samples: number; concurrency: number }
  | { type: 'steady'; perSecond: number; warmUpMs: number; durationMs: number; concurrency: number }
  | { type: 'fires'; samples: number; schedules: number; concurrency: number }
  | IdleMeasure
  | { type: 'tokens'; rate: Rate; processes: number; callers: number; durationMs: number }

export interface CallersMeasure {
  type: 'callers'
  callers: number
  warmUpMs: number
  durationMs: number
  /** The queue has a rule that refuses enqueues beyond so many waiting jobs; absent: it has none. */
  maxDepth?: number
}

export interface DrainMeasure {
  type: 'drain'
  jobs: number
  /** Keys that the jobs have in turn; absent: jobs without keys. */
  keys?: number
  /** How many jobs of one key may run at once; absent: no limit. */
  keyLimit?: number
  /** How long each job takes; absent: its handler returns at once. */
  jobMs?: number
  /** Warm-up jobs, run before those that count, by all processes together. */
  warmUpJobs: number
  processes: number
  /** Of each process. */
  concurrency: number
  /** Another session keeps a snapshot open from before the first start to the end. */
  isHeld: boolean
  /** After this time the jobs done so far are the answer, and it is marked. */
  limitMs: number
}

export interface IdleMeasure {
  type: 'idle'
  settleMs: number
  durationMs: number
  concurrency: number
  /** The queue is paused, and so many jobs are ready in it; absent: it is empty. */
  paused?: number
}

export interface Order {
  system: string
  url: string
  tuning: Tuning
  measure: Measure
}

/** Further figures of a measurement; the report has a column for each. All are numbers, for medians. */
export interface Details {
  p50Ms?: number
  p90Ms?: number
  p99Ms?: number
  maxMs?: number
  /** Jobs a second over the first and the last tenth of the runs, and the last as a share of the first. */
  firstTenth?: number
  lastTenth?: number
  lastOfFirst?: number
  /** Jobs a second including the warm-up, from the first start on. */
  fromCold?: number
  /** CPU time of all threads of the worker processes, while the jobs that count ran. */
  cpuMicrosPerJob?: number
  cpuPercent?: number
  walBytesPerJob?: number
  /** What was granted, as a share of what the bucket allows in that time. */
  quotaShare?: number
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
  /** Rows found in the store afterwards, warm-up included; a sample with missing rows is thrown away. */
  stored: number
  /** At each tenth of the runs, in MB. */
  rssTenthsMb?: number[]
}

export type Answer = { type: 'sample'; sample: Sample } | { type: 'error'; message: string }
