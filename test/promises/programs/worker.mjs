// A worker for the promises. The input of each job names the act of its handler (acts.mjs). Everything that happens is
// written to a ledger outside of the database, a line at a time, before anything follows from it.
import { existsSync, openSync, writeSync } from 'node:fs'
import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'
import { acts, standStill } from './acts.mjs'

const setup = JSON.parse(process.env.STINT_PROGRAM)
const { name, ledger, jobs, options, isTerse, isLeft, middleware = [], logLevel } = setup
const fd = openSync(ledger, 'a')

function write(type, more = {}) {
  const at = Number(process.hrtime.bigint()) / 1e6
  writeSync(fd, `${JSON.stringify({ type, at, worker: name, workerId: worker.id, ...more })}\n`)
}

if (logLevel !== undefined) process.env.STINT_LOG_LEVEL = logLevel
export const worker = new Worker(options)

const ofTheWorker = ['ready', 'swept', 'unknownKinds', 'workerLost', 'trouble', 'stopping', 'stopped']
const ofJobs = [
  'succeeded',
  'failed',
  'dead',
  'cancelled',
  'snoozed',
  'waiting',
  'released',
  'leaseLost',
  'slow',
  'thrownLate',
]
for (const event of ofTheWorker) {
  worker.on(event, (said = {}) => {
    const more = event === 'trouble' ? { what: said.what, error: String(said.error) } : said
    write('event', { name: event, said: more, healthPort: worker.healthPort })
  })
}
for (const event of isTerse ? [] : ofJobs) {
  worker.on(event, (said) => write('event', { name: event, job: said.id, said }))
}

/** Words that the parent has sent. A word resolves for all that wait for it, now or later. */
const heard = new Map()
function hears(word) {
  if (!heard.has(word)) {
    let say
    const promise = new Promise((resolve) => (say = resolve))
    heard.set(word, { promise, say })
  }
  return heard.get(word)
}
process.on('message', (word) => {
  // Other messages come to children of the worker, from the worker itself.
  if (typeof word !== 'string') return
  const [verb, file] = word.split(' ')
  if (verb === 'freeze') freeze(file)
  else hears(word).say()
})
// The channel to the parent must not keep the process alive.
process.channel.unref()

/**
 * Blocks the main thread until the file exists. A process that is stopped in here continues with its handlers first, and
 * with nothing else, once it is resumed. The heartbeat has its own thread and is not blocked.
 */
function freeze(file) {
  write('frozen')
  const parent = process.ppid
  standStill(() => existsSync(file) || process.ppid !== parent)
  hears('thawed').say()
  // It may be frozen again: later callers wait for the end of that freeze.
  heard.delete('thawed')
}

const numbered = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value?.n === 'number' ? { value } : { issues: [{ message: 'is no number', path: ['n'] }] },
  },
}

for (const layer of middleware) {
  worker.use(async (ctx, next) => {
    const about = { job: ctx.jobId, attempt: ctx.attempt, layer }
    write('enter', about)
    try {
      // A layer answers one job itself. The results of all other jobs name the layers that they passed.
      if (ctx.correlationId === `answered by ${layer}`) return { by: layer }
      return { [layer]: await next() }
    } finally {
      write('leave', about)
    }
  })
}

for (const { isStrict, isolate, batch, isOrdered, ...definition } of jobs) {
  const contract = defineJob({
    ...definition,
    ...(isStrict ? { input: numbered } : {}),
    ...(isOrdered ? { key: (input) => input.key, order: 'key' } : {}),
  })
  const handler = async (input, ctx) => {
    const { jobId: job, queue, attempt, fence } = ctx
    const about = { job, queue, attempt, epoch: fence.epoch, token: fence.token, n: input?.n }
    const note = (type, more) => write(type, { ...about, ...more })
    note('start')
    try {
      return await acts[input?.act ?? 'return'](input, ctx, {
        name,
        note,
        told: (word) => hears(word).promise,
        options,
      })
    } finally {
      note('end')
    }
  }
  if (batch === undefined) worker.handle(contract, handler, ...(isolate === undefined ? [] : [{ isolate }]))
  else worker.handleBatch(contract, (together) => handleAll(handler, together), { size: batch })
}

/** Each job of a batch does what its input says; an error that it throws ends only this job. */
async function handleAll(handler, together) {
  write('batch', { jobs: together.map(({ ctx }) => ctx.jobId) })
  const ended = await Promise.allSettled(together.map(({ input, ctx }) => handler(input, ctx)))
  return ended.map(({ status, value, reason }) => (status === 'fulfilled' ? value : reason))
}

// Under `stint work`, the command runs the worker.
if (!isLeft) {
  const running = worker.run()
  write('running')
  running.catch((error) => {
    write('fatal', { message: error.message })
    process.exitCode = 1
  })
}
