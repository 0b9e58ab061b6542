// What a job can ask of its handler in `input.act`. Each act gets the input, the context and the tools of the program.
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { defineJob } from 'stint/contracts'
import { CancelJob, PermanentError, RetryAfter, Snooze } from 'stint/worker'
import { stepActs, stepWrites } from './step-acts.mjs'

export const acts = {
  ...stepActs,

  return: (input, _ctx, { name }) => Promise.resolve(input?.value ?? { by: name }),

  sleep: async ({ ms }) => {
    await pause(ms)
  },

  /** Ends its process. */
  die: ({ how }) => {
    if (how === 'exit') process.exit(3)
    if (how === 'abort') process.abort()
    process.kill(process.pid, how)
    return new Promise(() => undefined)
  },

  /** Blocks the event loop for `ms`. */
  block: ({ ms }, _ctx, { name }) => {
    const endAt = performance.now() + ms
    standStill(() => performance.now() > endAt)
    return Promise.resolve({ by: name })
  },

  /**
   * Throws an error that no code catches, in a callback or a promise that is not awaited, and goes on; with `lateMs`,
   * throws after the handler has returned.
   */
  uncaught: async ({ how, lateMs }, ctx, { told }) => {
    if (how === 'callback')
      setTimeout(() => {
        throw new TypeError('in a callback')
      }, lateMs ?? 1)
    else void pause(lateMs ?? 0).then(() => Promise.reject(new TypeError('in a forgotten promise')))
    if (lateMs !== undefined) return
    await Promise.race([told('go'), aborted(ctx.signal)])
  },

  /** Runs until it is told to end, or with `listens` until it is aborted. */
  hold: async ({ listens, word = 'go', value }, ctx, { name, told }) => {
    await Promise.race([told(word), ...(listens ? [aborted(ctx.signal)] : [])])
    return { by: name, epoch: ctx.fence.epoch, value }
  },

  /** Works for a while, then returns, or stores its effect in one commit with its completion. */
  work: async ({ ms, tx }, ctx, { name, note }) => {
    await pause(ms, undefined, { signal: ctx.signal })
    if (!tx) return { by: name }
    return ctx.tx(async (client) => {
      const effect = [ctx.jobId, name, ctx.fence.token]
      await client.query('insert into effect (job, by, lease) values ($1, $2, $3)', effect)
      note('effect')
      return { by: name }
    })
  },

  /** Returns a value that Postgres can hold only in part. */
  hostile: () => Promise.resolve({ text: 'a\0b\ud800', kept: 1 }),

  /** Ends its process, or blocks it for ever. */
  poison: ({ how }) => poisons[how](),

  /** Fails in one of the known ways at the first `times` tries of the job. */
  fail: async ({ failure, times = Infinity }, ctx, { name }) => {
    const tries = (triesOf.get(ctx.jobId) ?? 0) + 1
    triesOf.set(ctx.jobId, tries)
    if (tries > times) return { by: name }
    await failures[failure](ctx)
  },

  /** Works for a while, and fails at the first `times` tries. */
  failOrWork: async ({ ms, failure, times }, ctx, tools) => {
    await pause(ms)
    if (times > 0) await acts.fail({ failure, times }, ctx, tools)
    return { by: tools.name }
  },

  /** Lets a zombie do one write after it lost its lease; any other worker succeeds. */
  zombie: async ({ write, held }, ctx, tools) => {
    const { name, told, note } = tools
    if (!name.startsWith('zombie')) {
      if (held) await told('go')
      return { by: name }
    }
    if (write === 'stepsEnd') await ctx.step('before', () => 1)
    await told('thawed')
    for (;;) {
      try {
        return await writes[write](ctx, tools)
      } catch (error) {
        note('threw', { write, code: error.code, error: String(error) })
        // The machine was too busy to get a connection in time, so the write was not sent yet.
        if (!/timeout|terminated/.test(error.message)) throw error
      }
    }
  },

  /** Stores an effect in ctx.tx; under the first lease it blocks inside until the file exists. */
  effect: (input, ctx, { name, note }) =>
    ctx.tx(async (tx) => {
      await tx.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, name])
      if (ctx.fence.epoch === 1) {
        note('inside')
        standStill(() => existsSync(input.until))
      }
      return { by: name }
    }),

  /** Completes itself in ctx.tx, with an effect. */
  tx: (_input, ctx, { name }) =>
    ctx.tx(async (tx) => {
      await tx.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, name])
      return { by: name }
    }),

  /** Succeeds with a child. */
  parent: async (_input, ctx, { name }) => {
    await ctx.enqueue(child, { of: ctx.jobId })
    return { by: name }
  },
}

const child = defineJob({ kind: 'child', queue: 'children' })
const triesOf = new Map()

const poisons = {
  exit: () => process.exit(1),
  abort: () => process.abort(),
  segfault: async () => {
    process.kill(process.pid, 'SIGSEGV')
    await new Promise(() => undefined)
  },
  memory: async () => {
    const kept = []
    for (;;) {
      kept.push(Array.from({ length: 100_000 }, (_, n) => ({ n })))
      await pause(0)
    }
  },
  loop: () => {
    standStill(() => false)
  },
}

const failures = {
  unknown: () => {
    throw new TypeError('cannot read it')
  },
  timeout: (ctx) => aborted(ctx.signal),
  connection: () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  },
  conflict: () => {
    throw Object.assign(new Error('could not serialize access'), { code: '40001' })
  },
  'rate-limited': () => {
    throw Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '70' } })
  },
  permanent: () => {
    throw new PermanentError('no such customer')
  },
  'retry-after': () => {
    throw new RetryAfter('90s', 'the other side sleeps')
  },
  snooze: () => {
    throw new Snooze('45s', 'not yet')
  },
  cancel: () => {
    throw new CancelJob('not needed any more')
  },
}

const writes = {
  ...stepWrites,
  complete: () => Promise.resolve({ by: 'zombie' }),
  fail: () => {
    throw new Error('a zombie failed')
  },
  snooze: (ctx) => ctx.snooze('1h', 'a zombie snoozed'),
  'dead-letter': () => {
    throw new PermanentError('a zombie gave up')
  },
  cancel: () => {
    throw new CancelJob('a zombie cancelled')
  },
  progress: async (ctx) => {
    await ctx.progress(99, 'by a zombie')
    throw new Error('a zombie made progress')
  },
  log: (ctx) => {
    ctx.log.info('a zombie speaks')
    return Promise.resolve({ by: 'zombie' })
  },
  enqueue: async (ctx) => {
    await ctx.enqueue(child, { of: ctx.jobId })
    return { by: 'zombie' }
  },
  tx: (ctx) => acts.tx(undefined, ctx, { name: 'zombie' }),
  'ctx.complete': async (ctx, { options }) => {
    const client = new pg.Client(options.connection)
    await client.connect()
    try {
      await client.query('begin')
      await client.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, 'zombie'])
      await ctx.complete(client, { result: { by: 'zombie' } })
      await client.query('commit')
    } finally {
      await client.end()
    }
  },
  once: (ctx) =>
    ctx.once(`once-${ctx.jobId}`, async (tx) => {
      await tx.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, 'zombie'])
      return { by: 'zombie' }
    }),
}

/** Rejects with the abort reason when the signal aborts. */
function aborted(signal) {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Blocks the whole thread until the test passes. */
export function standStill(test) {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  while (!test()) Atomics.wait(cell, 0, 0, 2)
}
