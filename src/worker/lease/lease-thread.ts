// The heartbeat, in a thread of its own with a connection of its own: a handler that keeps the event loop busy, or a
// pool whose connections are all in use, must not cost a healthy worker its jobs.
//
// It must not keep a sick worker alive either. While the main thread is blocked, the lease is renewed only as long as
// some attempt is within its deadline. Past that, the main thread can abort no attempt, so this thread ends the
// process.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/failures/thrown.ts'
import { measureSkew } from '../../db/clock-skew.ts'
import { Database } from '../../db/database.ts'
import { renew, reportDeath } from '../../jobs/leases/lease.ts'
import { ageMs, store } from './lease-memory.ts'
import type { LeaseThreadData, LeaseThreadMessage, LeaseThreadOrder } from './lease-memory.ts'

const { url, schema, workerId, leaseMs, graceMs, memory, ...given } = workerData as LeaseThreadData
const stop = new AbortController()
const stopped = once(stop.signal, 'abort')
let hurry = new AbortController()
let { claims } = given
parentPort?.on('message', (order: LeaseThreadOrder) => {
  if (typeof order === 'object') {
    claims = order.claims
    return
  }
  if (order === 'stop') stop.abort()
  hurry.abort()
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

tell({ type: 'up' })

/** How long the main thread has been blocked past all its deadlines; 0 while it is not. */
function blockedForMs(): number {
  const blockedMs = ageMs(memory, 'alive')
  const lateMs = ageMs(memory, 'deadline') - graceMs
  return blockedMs > leaseMs && lateMs > 0 ? blockedMs : 0
}

/** Checks in a row that must see it: after a process was stopped and continued, its main thread turns again soon. */
const sightings = 5
let seen = 0
const checking = setInterval(
  () => {
    const blockedMs = blockedForMs()
    seen = blockedMs === 0 ? 0 : seen + 1
    if (seen < sightings) return
    clearInterval(checking)
    void endProcess(blockedMs)
  },
  Math.min(500, leaseMs / 20),
)

/**
 * Gives the jobs back before the process ends, so that they need not wait for the lease; the process ends in any case.
 */
async function endProcess(blockedMs: number): Promise<void> {
  const story = `its event loop was blocked for ${Math.round(blockedMs / 1_000)} s, past the timeout of every job it ran`
  // Written directly: output that goes through the main thread would never appear.
  writeSync(2, `stint: ending this process: ${story}\n`)
  const told = reportDeath(database, { workers: [workerId], story }).catch(() => undefined)
  await Promise.race([told, pause(leaseMs / 6)])
  process.kill(process.pid, 'SIGKILL')
}

/** Waits for the time of the next heartbeat, or until the main thread asks for one. */
async function untilDue(failures: number): Promise<void> {
  // A third of a lease after the last confirmed heartbeat was sent (at first: the registration), however long this
  // thread took to start; after a failure at once, then a little later each time.
  const waitMs =
    failures === 0
      ? Math.max(0, leaseMs / 3 - ageMs(memory, 'confirmed'))
      : Math.random() * Math.min(leaseMs / 6, 50 * 2 ** failures)
  await pause(waitMs, undefined, { signal: hurry.signal }).catch(() => undefined)
  hurry = new AbortController()
}

// Opened now and kept: later the server may have no free connection.
await database.query('select 1', []).catch(() => undefined)
// Each heartbeat stores the skew that the one before it has measured.
let { skew } = given
let failures = 0
for (;;) {
  await untilDue(failures)
  if (stop.signal.aborted) break
  // Counted from when it was sent: by the time of the answer the database may have let others in.
  const sentAt = process.hrtime.bigint()
  try {
    const rssBytes = process.memoryUsage.rss()
    const said = { worker: workerId, leaseMs, rssBytes, claims, skew }
    skew = await measureSkew(() => renew(database, said))
    if (skew === undefined) {
      tell({ type: 'lost' })
      // Nothing is left to renew. But if the main thread is blocked, it does not hear of this, and the process must
      // still be ended.
      await stopped
      break
    }
    store(memory, 'confirmed', sentAt)
    if (failures > 0) tell({ type: 'renewed' })
    failures = 0
  } catch (error) {
    failures++
    tell({ type: 'trouble', message: messageOf(error) })
  } finally {
    store(memory, 'turned', process.hrtime.bigint())
  }
}
clearInterval(checking)
// Removing its listeners is not enough: a port that had a listener keeps its thread alive.
parentPort?.unref()
await database.close()
