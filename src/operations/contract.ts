import { defineJob, typed } from '../contracts/define-job.ts'

/** The queue that operations are executed in. */
export const operationQueue = 'stint'

/**
 * The job that executes an operation. It may take as long as a pace of one in ten seconds takes for a million jobs, and a
 * database that is away for an hour is no reason to give it up.
 */
export const operationJob = defineJob({
  kind: 'stint.operation',
  queue: operationQueue,
  input: typed<{ id: string }>(),
  timeout: '365d',
  retry: { attempts: 100 },
})
