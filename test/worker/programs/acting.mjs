// The entry file that children of the isolation tests load. Its worker cannot connect; the input of each job names
// the act of its handler.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import pg from 'pg'
import { defineJob } from 'stint/contracts'
import { CancelJob, currentJob, PermanentError, RetryAfter, Snooze, Worker } from 'stint/worker'

const forEver = () => new Promise(() => setInterval(() => undefined, 60_000))

/** Resolves when the handler is told to stop, possibly before it began: a busy child receives both messages at once. */
const aborted = ({ signal }) =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', resolve)
  })

export const acts = {
  return: (_input, ctx) => ({
    pid: process.pid,
    threadId,
    child: process.env.STINT_CHILD,
    argv: process.argv.slice(2),
    jobId: ctx.jobId,
    current: currentJob()?.jobId,
    attempt: ctx.attempt,
  }),
  say: async (_input, ctx) => {
    ctx.log.info('first', { n: 1 })
    await ctx.progress(40, 'on its way')
    ctx.log.warn('second')
    return 'said'
  },
  none: () => 'none',
  family: (input, ctx) =>
    ctx.all(defineJob({ kind: ctx.kind, queue: input.queue }), [{ act: 'none' }, { act: 'none' }]),
  steps: async (_input, ctx) => {
    const epoch = await ctx.step('first', () => ctx.fence.epoch)
    await ctx.sleep('20ms')
    return `step under epoch ${epoch}, end under epoch ${ctx.fence.epoch}`
  },
  progressAndWait: async (_input, ctx) => {
    await ctx.progress(40, 'on its way')
    await aborted(ctx)
    throw ctx.signal.reason
  },
  tx: (input, ctx) =>
    ctx.tx(async (tx) => {
      ctx.log.info('inside')
      await tx.query('insert into effect (job_id) values ($1)', [ctx.jobId])
      if (input.fails) throw new Error('not that')
      return 'by tx'
    }),
  /** Completes in a transaction that ends by `input.ending`; with `input.exits` the process ends after that. */
  complete: async (input, ctx) => {
    const client = new pg.Client(input.url)
    await client.connect()
    await client.query('begin')
    await ctx.complete(client, { result: 'by complete' })
    await client.query(input.ending)
    if (input.exits) process.exit(7)
    await client.end()
    return 'returned'
  },
  take: async (input, ctx) => {
    const limit = ctx.limit(input.rate)
    await limit.take(2)
    return limit.tryTake(2)
  },
  once: async (input, ctx) => {
    const work = async (tx) => {
      await tx.query('insert into effect (job_id) values ($1)', [ctx.jobId])
      return { at: ctx.attempt }
    }
    return [await ctx.once(input.key, work), await ctx.once(input.key, work)]
  },
  children: async (input, ctx) => {
    const { id } = await ctx.enqueue(defineJob({ kind: 'child', queue: input.queue }), { of: ctx.jobId })
    if (input.fails) throw new Error('no children')
    return id
  },
  throw: (input) => {
    throw Object.assign(new TypeError(input.message ?? 'thrown'), { code: input.code })
  },
  permanent: () => {
    throw new PermanentError('never again')
  },
  retryAfter: () => {
    throw new RetryAfter('1h')
  },
  snooze: () => {
    throw new Snooze('1h', 'not now')
  },
  cancel: () => {
    throw new CancelJob('no need')
  },
  obey: async (_input, ctx) => {
    await aborted(ctx)
    throw ctx.signal.reason
  },
  ignore: forEver,
  /** Starts a process and never ends. */
  spawn: async (input) => {
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    appendFileSync(input.ledger, `${JSON.stringify({ type: 'spawned', pid })}\n`)
    await forEver()
  },
  busy: () => {
    for (;;);
  },
  abort: () => process.abort(),
  segfault: async () => {
    process.kill(process.pid, 'SIGSEGV')
    await forEver()
  },
  uncaught: async () => {
    setImmediate(() => {
      throw new RangeError('this error is not caught')
    })
    await forEver()
  },
  outOfMemory: () => {
    const kept = []
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, n) => ({ n })))
  },
  txThenExit: async (input, ctx) => {
    await acts.tx(input, ctx)
    process.exit(4)
  },
  /** Ends its process, except in the lease with this epoch. */
  until: (input, ctx) => {
    if (ctx.fence.epoch < input.epoch) process.exit(6)
    return process.pid
  },
}

/** Records which process runs the job before anything else happens. */
export async function act(input, ctx) {
  if (input.ledger !== undefined)
    appendFileSync(input.ledger, `${JSON.stringify({ type: 'runs', pid: process.pid, job: ctx.jobId })}\n`)
  return acts[input.act](input, ctx)
}

export const worker = new Worker({ connection: 'postgres://nobody@127.0.0.1:1/nowhere', log: false })
worker.handle(defineJob({ kind: 'act', timeout: '1m', retry: { backoff: () => 1 } }), act, {
  isolate: 'process',
})
worker.use(async (ctx, next) => {
  const result = await next()
  return result === 'said' ? `${ctx.kind}: said` : result
})
