// Handlers, in a process of their own: `stint work examples/start/worker.ts`. The database is DATABASE_URL.
import { Worker } from 'stint/worker'
import { register } from './handlers.ts'

export const worker = new Worker({
  queues: { billing: 5, mail: 5, media: { concurrency: 4 }, sync: 2 },
  // Shorter than the default of 30 seconds, so that the jobs of a dead worker soon run again.
  lease: '5s',
  sweepEvery: '2s',
  version: 'example-1',
})

register(worker)
