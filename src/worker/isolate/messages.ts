import type { ClaimedJob } from '../../jobs/claim.ts'
import type { AbortCause } from '../attempt/held-job.ts'
import type { JobLog } from '../attempt/context.ts'
import type { Outcome } from '../attempt/outcome.ts'

/** What a worker and its child say to each other, by structured clone; in the order it was said. */
export type ToChild =
  | Introduction
  | { type: 'run'; job: ClaimedJob; workerId: string; heldForMs: number; timeoutMs: number }
  | { type: 'abort'; lease: string; cause: AbortCause; reason: AbortReason }
  /** What the job has said so far is stored. */
  | { type: 'written'; lease: string }
  | { type: 'end' }

/** The first thing a child hears: what to load, and which database its jobs are in. */
export interface Introduction {
  type: 'load'
  entry: string
  /** Whether `stint work` said so: then it is that of all workers that do not name another. */
  isTold: boolean
  /** The how-manieth worker of the entry it stands for. */
  place: number
  /** What that worker has to have handlers for. */
  kinds: readonly string[]
  url: string
  schema: string
  leaseMs: number
  graceMs: number
  deadlineMs: number
}

/** An error as the other side can make it again. */
export interface AbortReason {
  name: string
  message: string
  code: string | undefined
  /** What was said by whoever asked for the job's end, where that is the reason. */
  cancelReason: string | null
}

export type FromChild =
  /** It has loaded the entry, and has handlers for these kinds. */
  | { type: 'ready'; kinds: readonly string[]; rssBytes: number }
  | { type: 'failed'; message: string }
  /** Something was thrown that nobody caught; most likely it ends of it. */
  | { type: 'uncaught'; message: string }
  /** Something was thrown in the name of a job after its attempt was over. */
  | { type: 'late'; jobId: string; kind: string; message: string }
  | JobMessage

/** About the job under this lease: one that ended may still speak while the next one runs. */
export type JobMessage = { lease: string } &
  /** Its handler is about to run: what ends the child from here on is the job's. */
  (
    | { type: 'begun' }
    | { type: 'progress'; percent: number; note: string | null }
    | { type: 'line'; level: string; message: string; data: string | undefined }
    | { type: 'log'; level: keyof JobLog; fields: object; message: string }
    /** It is about to store its completion, and waits until what it said is written. */
    | { type: 'write' }
    | { type: 'completed' }
    | { type: 'outcome'; outcome: Outcome }
  )
