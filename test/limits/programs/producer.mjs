// A producer that enqueues one job after the other at a steady pace until its queue has refused it for a while, and reports what
// it stored in each tenth of a second, what was refused, and how its heap grew while it was refused.
import { setTimeout as pause } from 'node:timers/promises'
import { Stint } from 'stint'
import { defineJob } from 'stint/contracts'

const { connection, queue, perSecond, priority, refusedForMs } = JSON.parse(process.env.STINT_PROGRAM)
const stint = new Stint({ connection, poolSize: 2 })
const job = defineJob({ kind: 'flood', queue })

const stored = new Map()
const waits = []
let refused = 0
let refusedSince
const startedAt = Date.now()

async function enqueue() {
  try {
    await stint.enqueue(job, { from: process.pid }, { priority })
    const slot = Math.floor(Date.now() / 100)
    stored.set(slot, (stored.get(slot) ?? 0) + 1)
    refusedSince = undefined
  } catch (error) {
    if (error.code !== 'queue-full') throw error
    refused++
    if (waits.length < 100) waits.push(error.retryAfterMs)
    refusedSince ??= Date.now()
  }
}

for (let sent = 0; refusedSince === undefined || Date.now() - refusedSince < refusedForMs; sent++) {
  const aheadMs = startedAt + (sent * 1_000) / perSecond - Date.now()
  if (aheadMs > 0) await pause(aheadMs)
  await enqueue()
}

// Now as fast as it can.
globalThis.gc()
const heapBefore = process.memoryUsage().heapUsed
for (let tries = 0; tries < 20_000; tries++) await enqueue()
globalThis.gc()
const grewBytes = process.memoryUsage().heapUsed - heapBefore
await stint.close()
process.stdout.write(`${JSON.stringify({ stored: [...stored], waits, refused, grewBytes })}\n`)
