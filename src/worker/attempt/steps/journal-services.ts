import type { NewRecord, StepRecord } from '../../../flows/steps/steps.ts'
import type { TakenSignal, TakeRequest } from '../../../flows/waiting/waiting.ts'
import type { HeldJob } from '../held-job.ts'
import type { StepProbe } from './probe.ts'

/** What the journals of a worker share. */
export interface JournalServices {
  readonly records: {
    /** False if the lease is gone. */
    write(one: NewRecord): Promise<boolean>
    read(jobId: string): Promise<StepRecord[]>
    parkedTries(jobId: string): Promise<number>
    take(request: TakeRequest): Promise<TakenSignal | 'none' | 'lost'>
    expiry(ms: number): Promise<number>
  }
  /** Of a test. */
  readonly probe?: StepProbe | undefined
  /** Whether the worker stops: no new step begins. */
  isDraining(): boolean
  /** A record is stored: the job's timeout counts from here. */
  progressed(held: HeldJob): void
}
