import type { InputOf } from '../../contracts/contract.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'

export interface EnqueueOptions<Tx> extends JobOptions {
  /** Store it in your transaction: it exists once you commit, and never if you roll back. */
  tx?: Tx | undefined
}

export interface Progress {
  /** Jobs sent so far. The jobs of an array are committed together at the end, those of a stream as they come. */
  sent: number
  /** The total number of jobs, if known. */
  total: number | undefined
}

export interface EnqueueManyOptions<Contract, Tx> extends JobOptions {
  /** Options of a single job; they override the options for all jobs. */
  each?: ((input: InputOf<Contract>, index: number) => JobOptions) | undefined
  /** Store them in your transaction. */
  tx?: Tx | undefined
  /** Called after each statement of up to 5,000 jobs. If it throws, the call stops. */
  onProgress?: ((progress: Progress) => void) | undefined
  /** Stops the call between two statements; then no job of an array is stored. */
  signal?: AbortSignal | undefined
}
