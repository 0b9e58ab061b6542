// Acts of jobs with steps. Each run of a step's function is written to the ledger, and the moment when the call has returned:
// from then on its record is confirmed, and the function must not run again.
import { setTimeout as pause } from 'node:timers/promises'

/** The calls of one attempt, as the ledger has them. */
function noted(ctx, note) {
  const confirmed = (step) => note('confirmed', { step })
  return {
    confirmed,
    /** `as` tells steps of one name apart. */
    step: async (name, { ms, as: step = name }) => {
      let isNew = false
      await ctx.step(name, async () => {
        isNew = true
        note('ran', { step })
        await pause(ms)
        return { step }
      })
      confirmed(step)
      return isNew
    },
  }
}

export const stepActs = {
  /** Every sort of recorded call. With `dieAfter`, kills its process right after the first run of that step. */
  steps: async ({ ms = 1, dieAfter }, ctx, { name, note }) => {
    const { step, confirmed } = noted(ctx, note)
    const orDie = (which) => {
      if (which === dieAfter) process.kill(process.pid, 'SIGKILL')
    }
    const ranNow = new Set()
    const one = async (which, as = which) => {
      if (await step(which, { ms, as })) orDie(as)
    }
    await ctx.version('v', 1, 2)
    await one('first')
    await ctx.stepTx('book', async (tx) => {
      note('ran', { step: 'book' })
      ranNow.add('book')
      await tx.query('insert into effect (job, by, lease) values ($1, $2, $3)', [
        ctx.jobId,
        name,
        ctx.fence.token,
      ])
      await pause(ms)
    })
    confirmed('book')
    if (ranNow.has('book')) orDie('book')
    let last
    await ctx.each('send', [1, 2, 3], { batch: 1 }, async ([item]) => {
      // The batch before is stored once the next one begins.
      if (last !== undefined) {
        confirmed(`send ${last}`)
        orDie(`send ${last}`)
      }
      last = item
      note('ran', { step: `send ${item}` })
      await pause(ms)
    })
    if (last !== undefined) {
      confirmed(`send ${last}`)
      orDie(`send ${last}`)
    }
    await ctx.sleep('20ms', { name: 'short' })
    await Promise.all([one('left'), one('right', 'right 0'), one('right', 'right 1')])
    await ctx
      .step('broken', () => {
        note('ran', { step: 'broken' })
        throw new Error('no such page')
      })
      .catch(() => undefined)
    await one('after broken')
    confirmed('broken')
    note('asks')
    const parts = [await ctx.waitForSignal('go')]
    await one('between')
    parts.push(await ctx.waitForSignal('go'))
    const none = await ctx.waitForSignal('go', { timeout: '1ms' })
    await one('last')
    return { parts: parts.map(({ payload }) => payload.part), isDoubled: !none.timedOut }
  },

  /** What a repeated handler gets is the same as before, in the same order. It ends in attempt number `attempts`. */
  replayed: async ({ attempts }, ctx, { note }) => {
    const ran = (step, value) => {
      note('ran', { step })
      return value
    }
    const squares = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((n) => ctx.step('square', () => ran(`square ${n}`, n * n))),
    )
    let open
    const opened = new Promise((resolve) => (open = resolve))
    const slow = ctx.step('slow', () => opened.then(() => ran('slow', 'slow')))
    const winner = await Promise.race([slow, ctx.step('fast', () => ran('fast', 'fast'))])
    const error = await ctx
      .step('broken', () => {
        throw new Error(ran('broken', 'no such page'))
      })
      .catch(({ message }) => message)
    await ctx.step('last', () => ran('last'))
    open()
    await slow
    note('saw', { values: [squares, winner, error] })
    if (ctx.fence.epoch < attempts) ctx.snooze('1ms')
  },

  /** A step, one in a transaction, a signal, and a look for a second signal. */
  cut: async (_input, ctx, { name, note }) => {
    await ctx.step('one', () => note('ran', { step: 'one' }))
    await ctx.stepTx('book', async (tx) => {
      await tx.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, name])
    })
    const { payload } = await ctx.waitForSignal('go')
    const second = await ctx.waitForSignal('go', { timeout: '1ms' })
    return { parts: [payload.part], isDoubled: !second.timedOut }
  },

  /** Waits for one signal. */
  waits: async (_input, ctx) => {
    const { payload } = await ctx.waitForSignal('go')
    return payload
  },
}

/** Writes of a zombie. */
export const stepWrites = {
  step: (ctx) => ctx.step('late', () => 1),
  stepTx: (ctx) =>
    ctx.stepTx('late', (tx) =>
      tx.query('insert into effect (job, by) values ($1, $2)', [ctx.jobId, 'zombie']).then(() => 1),
    ),
  take: (ctx) => ctx.waitForSignal('go'),
  suspend: (ctx) => ctx.sleep('1h', { name: 'late' }),
  stepsEnd: () => Promise.resolve({ by: 'zombie' }),
  memberEnd: () => Promise.resolve({ by: 'zombie' }),
}
