import type { Pause } from '../../../jobs/pauses/pauses.ts'
import type { Percentiles } from '../series/read-stats.ts'

/** The states whose jobs are counted by queue. Jobs that succeeded or were cancelled are history, and have no count. */
export const countedStates = ['scheduled', 'waiting', 'ready', 'running', 'retrying', 'dead'] as const
export type CountedState = (typeof countedStates)[number]

/** The figures of a queue, in every answer that has them: library, HTTP, dashboard and command line. */
export interface QueueFigures {
  queue: string
  scheduled: number
  waiting: number
  ready: number
  running: number
  retrying: number
  /** Without dead letters in the trash and those edited into another job. */
  dead: number
  /** The pauses in effect: that of the queue itself first, then up to 20 of its kinds and keys. */
  pauses: readonly Pause[]
  /** States whose count is an estimate, shown as `≈12k`. */
  estimated: readonly CountedState[]
  /** States whose counting stopped at a limit, so that there may be more, shown as `10k+`. */
  atLeast: readonly CountedState[]
  /** How long the oldest of the counted ready jobs has waited; null if none is ready. */
  oldestReadyMs: number | null
  /** Jobs of this queue that the live workers run at once, together. */
  slots: number
  /** Live workers that serve this queue. */
  workers: number
  /** Jobs enqueued per second, over the last 5 minutes. */
  inPerSecond: number
  /** Jobs that left for good per second, over the last 5 minutes. */
  outPerSecond: number
  /** Time until no job is ready, at these rates; null if the queue does not get shorter. */
  emptyInMs: number | null
  /** Failed attempts as a share of those that ended within the last hour, 0 to 1; null if none ended. */
  failureRate: number | null
  /** Milliseconds from `run_at` to the start of the handler, over the last hour. */
  wait: Percentiles
  /** Milliseconds that an attempt took, over the last hour. */
  run: Percentiles
  /** Jobs that ended in each of the last 60 minutes, the current minute last. */
  spark: number[]
  /** When the live jobs were counted, by the database's clock; null if they never were. */
  countedAt: Date | null
}

/** The figures that come from counting jobs. */
export type QueueCounts = Pick<
  QueueFigures,
  'queue' | CountedState | 'estimated' | 'atLeast' | 'oldestReadyMs' | 'countedAt'
>
