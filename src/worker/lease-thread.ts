// The heartbeat, in a thread of its own with a connection of its own: a handler that keeps the event loop busy, or a
// pool whose connections are all in use, must not cost a healthy worker its jobs.
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Database } from '../db/database.ts'
import { renew } from '../leases/lease.ts'
import { confirm } from './lease-memory.ts'
import type { LeaseThreadData, LeaseThreadMessage } from './lease-memory.ts'

const { url, schema, workerId, leaseMs, memory } = workerData as LeaseThreadData
const stop = new AbortController()
parentPort?.once('message', () => {
  stop.abort()
})

const database = new Database({
  url,
  schema,
  poolSize: 1,
  deadlineMs: leaseMs / 6,
  applicationName: 'stint heartbeat',
  isKept: true,
})

function tell(message: LeaseThreadMessage): void {
  parentPort?.postMessage(message)
}

// Opened now and kept: later there may be none to be had.
await database.query('select 1', []).catch(() => undefined)
let failures = 0
while (!stop.signal.aborted) {
  // The first beat comes a third of a lease after the registration; after trouble at once, then a little later each time.
  const waitMs = failures === 0 ? leaseMs / 3 : Math.random() * Math.min(leaseMs / 6, 50 * 2 ** failures)
  const isDue = await pause(waitMs, true, { signal: stop.signal }).catch(() => false)
  if (!isDue) break
  // From when it was sent: by the time of the answer the database may have let others in.
  const sentAt = process.hrtime.bigint()
  try {
    if (!(await renew(database, { worker: workerId, leaseMs, rssBytes: process.memoryUsage.rss() }))) {
      tell({ type: 'lost' })
      break
    }
    confirm(memory, sentAt)
    if (failures > 0) tell({ type: 'renewed' })
    failures = 0
  } catch (error) {
    failures++
    tell({ type: 'trouble', message: error instanceof Error ? error.message : String(error) })
  }
}
await database.close()
