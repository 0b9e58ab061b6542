// A producer for the guarantees: writes to the ledger each job that it is going to store, then the answer that it got.
// Every job has its own number, so that one job stored twice can be told from two jobs.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, Stint } from 'stint'

const { name, ledger, connection, timeout, notify, job, perSecond, from, inputs } = JSON.parse(
  process.env.STINT_PROGRAM,
)
const fd = openSync(ledger, 'a')
const stint = new Stint({ connection, timeout, notify })
const contract = defineJob(job)

function write(type, more = {}) {
  const at = Number(process.hrtime.bigint()) / 1e6
  writeSync(fd, `${JSON.stringify({ type, at, worker: name, ...more })}\n`)
}

let n = from
async function enqueue(input) {
  const number = n++
  write('intent', { n: number })
  try {
    const { id } = await stint.enqueue(contract, { ...input, n: number })
    write('ack', { n: number, job: id })
  } catch (error) {
    write('unacknowledged', { n: number, code: error.code, message: error.message })
  }
}

/** Enqueues several large jobs by one statement. */
async function enqueueLarge(count, bytes) {
  const all = Array.from({ length: count }, () => ({ n: n++, text: 'x'.repeat(bytes) }))
  for (const one of all) write('intent', { n: one.n })
  try {
    await stint.enqueueMany(contract, all)
    write('ack many')
  } catch (error) {
    write('unacknowledged many', { code: error.code, jobs: error.jobIds })
  }
}

let isStopped = false
let stop
const stopped = new Promise((resolve) => (stop = resolve))
process.on('message', (message) => {
  const [verb, ...words] = message.split(' ')
  if (verb === 'one') void enqueue(inputs[Number(words[0] ?? 0)])
  if (verb === 'large') void enqueueLarge(Number(words[0]), Number(words[1]))
  if (verb === 'stop') {
    isStopped = true
    stop()
  }
})

/** A steady stream. Late jobs are not caught up, so that a database is not flooded after it was down. */
async function produce() {
  const underWay = new Set()
  for (let turn = 0; !isStopped; turn++) {
    if (underWay.size < 50) {
      const one = enqueue(inputs[turn % inputs.length]).finally(() => underWay.delete(one))
      underWay.add(one)
    }
    await pause(1000 / perSecond)
  }
  await Promise.all(underWay)
}

write('ready')
await (perSecond > 0 ? produce() : stopped)
await stint.close()
write('done')
process.disconnect()
