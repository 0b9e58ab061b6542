// A program that runs its own worker and is the entry of its children.
import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'
import { act } from './acting.mjs'

const { connection, queue, children } = JSON.parse(process.env.STINT_PROGRAM)
const job = defineJob({ kind: 'act', queue, timeout: '1m', retry: { backoff: () => 1 } })
const options = { connection, log: false, pollFloor: '200ms' }

// Created before the worker under test and with the same options: the child must not choose this one.
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
