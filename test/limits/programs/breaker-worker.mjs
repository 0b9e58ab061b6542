// A worker whose jobs call a downstream: a file says whether it is down. Every call and event is written to a ledger outside
// of the database.
import { existsSync, openSync, writeSync } from 'node:fs'
import { defineBreaker, defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'

const { name, ledger, options, breaker, job, downFile, hangFile } = JSON.parse(process.env.STINT_PROGRAM)
const fd = openSync(ledger, 'a')

function write(type, more = {}) {
  const at = Number(process.hrtime.bigint()) / 1e6
  writeSync(fd, `${JSON.stringify({ type, at, worker: name, ...more })}\n`)
}

const worker = new Worker({ ...options, log: false, flow: [defineBreaker(breaker)] })
worker.on('ready', () => write('ready'))
worker.on('breaker', (said) => write('breaker', { was: said.was, state: said.state, said: said.cause ?? {} }))
for (const event of ['succeeded', 'dead']) worker.on(event, ({ id }) => write(event, { job: id }))

worker.handle(defineJob({ ...job, retry: { attempts: 3, backoff: () => 200 } }), async (_, ctx) => {
  const isDown = existsSync(downFile)
  write('call', { job: ctx.jobId, attempt: ctx.attempt, isDown })
  if (existsSync(hangFile)) {
    write('hang')
    await new Promise((resolve) => setTimeout(resolve, 60_000))
  }
  await new Promise((resolve) => setTimeout(resolve, 5))
  write('end')
  if (isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
})

// The channel to the parent must not keep the process alive.
process.channel?.unref()
await worker.run()
