import type { Tuning } from '../systems/system.ts'

/** What the measuring process says to a worker process, each answered by one message. */
export type ToWorker =
  | { type: 'prepare'; order: WorkerOrder }
  | { type: 'start' }
  | { type: 'count' }
  | { type: 'report' }
  | { type: 'stop' }

export type FromWorker =
  | { type: 'prepared' }
  | { type: 'started' }
  | { type: 'count'; runs: number }
  | { type: 'report'; report: WorkerReport }
  | { type: 'stopped' }
  | { type: 'error'; message: string }
  /** Unasked, once per job, where the order says so. */
  | { type: 'ran'; started: Started }

export interface WorkerOrder {
  system: string
  url: string
  tuning: Tuning
  concurrency: number
  /** Schedules of every second that it has in its code; none where absent. */
  schedules?: number
  note: Note
}

/** What the handler writes down: every so many runs the time, the start of each job, or that and tell at once. */
export type Note = { type: 'marks'; every: number } | { type: 'starts' } | { type: 'each' }

export interface Mark {
  at: number
  rssMb: number
  /** Of all threads, since the process began. */
  cpuMicros: number
}

export interface Started {
  n: number
  at: number
}

export interface WorkerReport {
  runs: number
  /** At the first run. */
  first: Mark | undefined
  marks: Mark[]
  starts: Started[]
  /** When the report was made, and all that was used until then. */
  at: number
  rssMb: number
  cpuMicros: number
}
