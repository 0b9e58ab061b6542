import type { Queryable } from '../../db/statement.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import type { BlobConfig, JobHint, PreparedJob } from '../../jobs/new/new-job.ts'

export interface EnqueuedFlow {
  id: string
  name: string
  /** `kept`: no new flow was stored, and `id` is that of the open flow that has the unique key. */
  placement: 'stored' | 'kept'
}

/** What `stint.flows` uses of its client. */
export interface FlowsParts<Tx> {
  blobs: BlobConfig | undefined
  /** What each job gets from the request around the call. */
  ambient: () => JobOptions | undefined
  foreign: (tx: Tx) => Queryable
  /** Sends once the queues of the jobs are known to take them. */
  admitted: <Result>(
    jobs: readonly PreparedJob[],
    options: { isInTx: boolean; isStored: (result: Result) => boolean },
    send: () => Promise<Result>,
  ) => Promise<Result>
  stored: (hints: ReadonlySet<JobHint>, isInTx: boolean) => void
}
