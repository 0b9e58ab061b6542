import { defineJob, typed } from '../contracts/define-job.ts'

/** The queue whose workers execute operations. */
export const operationQueue = 'stint'

/**
 * The job that executes an operation. Its limits allow a million jobs at one job every ten seconds, and an outage of the
 * database of an hour.
 */
export const operationJob = defineJob({
  kind: 'stint.operation',
  queue: operationQueue,
  input: typed<{ id: string }>(),
  timeout: '365d',
  retry: { attempts: 100 },
})
