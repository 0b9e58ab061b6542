// A program that is its own entry, and runs its worker itself.
import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'
import { act } from './acting.mjs'

const { connection, queue, children } = JSON.parse(process.env.STINT_PROGRAM)
const job = defineJob({ kind: 'act', queue, timeout: '1m', retry: { backoff: () => 1 } })
const options = { connection, log: false, pollFloor: '200ms' }

// Made before the one that matters, and able to do the same: the child must not take this one.
const other = new Worker({
  ...options,
  queues: { [`${queue}.other`]: 1 },
  children: { entry: import.meta.url },
})
other.handle(defineJob({ kind: 'act', queue: `${queue}.other` }), () => 'of the other one', {
  isolate: 'process',
})

const worker = new Worker({
  ...options,
  queues: { [queue]: 2 },
  children: { entry: import.meta.url, ...children },
})
worker.handle(job, act, { isolate: 'process' })

await Promise.all([other.run(), worker.run()])
process.exit()
