// A process that uses tokens of a rate, outside of jobs, in handlers or by claims, until it is killed. Each use is written to a
// ledger outside of the database at the moment when it is allowed.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, defineRate, Stint } from 'stint'
import { Worker } from 'stint/worker'

const { name, ledger, connection, listenConnection, rate, job, perSecond } = JSON.parse(
  process.env.STINT_PROGRAM,
)
const fd = openSync(ledger, 'a')

function write(type, more = {}) {
  const at = Number(process.hrtime.bigint()) / 1e6
  writeSync(fd, `${JSON.stringify({ type, at, worker: name, ...more })}\n`)
}

let go
const told = new Promise((resolve) => (go = resolve))
process.on('message', (word) => {
  if (word === 'go') go()
})

if (job === undefined) {
  const stint = new Stint({ connection })
  await stint.status()
  write('ready')
  await told
  const limit = stint.limit(rate.name)
  if (perSecond === undefined) await Promise.all(Array.from({ length: 20 }, () => takeForEver(limit)))
  else await takeAtPace(limit)
} else {
  const { isByHand, ...definition } = job
  const contract = defineJob({ ...definition, ...(isByHand ? {} : { rates: [rate.name] }) })
  const options = { connection, queues: { [job.queue]: 20 }, flow: [defineRate(rate)], log: false }
  const worker = new Worker({ ...options, ...(listenConnection === undefined ? {} : { listenConnection }) })
  worker.handle(contract, async (input, ctx) => {
    if (isByHand) await ctx.limit(rate.name).take(1)
    if (input?.isRefused === true && ctx.attempt === 1) {
      write('refused')
      throw Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '3' } })
    }
    write('use')
  })
  worker.on('ready', () => write('working'))
  write('ready')
  await told
  await worker.run()
}

async function takeForEver(limit) {
  for (;;) {
    await limit.take(1)
    write('use')
  }
}

async function takeAtPace(limit) {
  const startedAt = performance.now()
  for (let uses = 0; ; uses++) {
    await pause(startedAt + (uses * 1_000) / perSecond - performance.now())
    void limit.take(1).then(() => write('use'))
  }
}
