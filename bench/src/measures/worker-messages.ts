import type { Tuning, Work } from '../systems/system.ts'

/** Messages of the measuring process to a worker process, each answered by one message. */
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
  /** Sent without a request, once per job, if the order says so. */
  | { type: 'ran'; started: Started }

/** The handler is made in the worker process, from `note`. */
export interface WorkerOrder extends Omit<Work, 'run'> {
  system: string
  url: string
  tuning: Tuning
  note: Note
}

/**
 * What the handler records: the time at every so many runs, the start of each job, or the start and a message at once.
 */
export type Note = { type: 'marks'; every: number } | { type: 'starts' } | { type: 'each' }

export interface Mark {
  at: number
  rssMb: number
  /** CPU time of all threads since the process began. */
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
  /** When the report was made, and the resources used until then. */
  at: number
  rssMb: number
  cpuMicros: number
}
