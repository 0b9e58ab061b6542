// The worker file of the tests of the supervisor. The input of a job says what to do, and each event is written to a ledger
// with the pid. Files tell it what to do, because it runs under a supervisor and the test cannot send it messages.
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'

const { ledger, queue, options, brokenIf, heldIf, diesWhenReady, runsItself } = JSON.parse(
  process.env.STINT_PROGRAM,
)
let worker
if (brokenIf !== undefined && existsSync(brokenIf)) throw new Error('broken by its test')
if (heldIf !== undefined && existsSync(heldIf)) {
  write('held')
  while (!existsSync(`${heldIf}.${process.pid}`)) await pause(10)
}

function write(type, more = {}) {
  const at = Number(process.hrtime.bigint()) / 1e6
  const line = { type, at, worker: String(process.pid), pid: process.pid, workerId: worker?.id, ...more }
  appendFileSync(ledger, `${JSON.stringify(line)}\n`)
}

const acts = {
  sleep: async ({ ms }) => {
    await pause(ms)
  },
  /** Runs until the file exists, or it is told to stop. */
  hold: async ({ until }, { signal }) => {
    while (!existsSync(until)) await pause(10, undefined, { signal })
  },
  /** Blocks for ever, so that it reacts to nothing, not even signals. */
  block: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
}

worker = new Worker({ queues: { [queue]: 1 }, pollFloor: '200ms', ...options })
worker.handle(defineJob({ kind: 'work', queue }), async (input, ctx) => {
  write('start', { job: ctx.jobId, epoch: ctx.fence.epoch })
  await acts[input.act](input, ctx)
  write('end', { job: ctx.jobId })
})

worker.on('ready', () => {
  write('ready', { execArgv: process.execArgv })
  if (diesWhenReady) setTimeout(() => process.exit(7), 50)
})
worker.on('stopping', () => write('stopping'))
export { worker }
if (runsItself) await worker.run()
