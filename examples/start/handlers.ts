// What the worker does. A function, so that a test can register the same handlers: see handlers.test.ts.
import { setTimeout as pause } from 'node:timers/promises'
import { defineSchedule, PermanentError, RetryAfter } from 'stint/worker'
import type { Worker } from 'stint/worker'
import {
  chargeCard,
  closeBooks,
  remindCarts,
  renderReport,
  resizeImage,
  sendMail,
  syncAccount,
} from './contracts.ts'

const chance = (share: number): boolean => Math.random() < share

export function register(worker: Worker): void {
  worker.handle(resizeImage, async ({ imageId, width }, ctx) => {
    for (const percent of [25, 50, 75]) {
      await pause(100 + Math.random() * 300, undefined, { signal: ctx.signal })
      await ctx.progress(percent, `resizing to ${width}`)
    }
    return { url: `https://images.example.com/${imageId}-${width}.webp` }
  })

  worker.handle(sendMail, async ({ to }, ctx) => {
    await pause(50 + Math.random() * 200, undefined, { signal: ctx.signal })
    if (chance(0.1)) throw new Error('connect ETIMEDOUT smtp.example.com')
    if (chance(0.05)) throw new RetryAfter('5s', 'the mail provider asks for patience')
    ctx.log.info('sent', { to })
  })

  worker.handle(chargeCard, async ({ orderId, cents }, ctx) => {
    await pause(100 + Math.random() * 200, undefined, { signal: ctx.signal })
    if (chance(0.06)) throw new PermanentError('card declined: do not honor')
    if (chance(0.1)) throw new Error('the payment provider answered 502')
    // The order is marked and the job completed in one commit: never one without the other.
    await ctx.tx(async (tx) => {
      await tx.query('update example_order set charged_cents = $2 where id = $1', [orderId, cents])
    })
  })

  worker.handle(renderReport, async ({ isPoison }, ctx) => {
    await pause(200 + Math.random() * 400, undefined, { signal: ctx.signal })
    if (isPoison) process.kill(process.pid, 'SIGKILL')
  })

  worker.handle(syncAccount, async ({ account }, ctx) => {
    await pause(100, undefined, { signal: ctx.signal })
    ctx.log.info('synchronised', { account })
  })

  worker.handle(remindCarts, async (_input, ctx) => {
    await pause(100, undefined, { signal: ctx.signal })
    ctx.log.info('looked for carts that were left behind')
  })

  worker.handle(closeBooks, async ({ day }, ctx) => {
    await pause(500, undefined, { signal: ctx.signal })
    ctx.log.info('closed the books', { day })
  })

  // Both workers have these schedules in their code; each fire still makes one job.
  worker.schedule(
    defineSchedule({ name: 'remind-carts', job: remindCarts, every: '1m', overlap: 'skip' }),
    defineSchedule({
      name: 'close-books',
      job: closeBooks,
      cron: '0 2 * * *',
      timeZone: 'Europe/Rome',
      // The day that has ended in Rome.
      input: (fireAt) => ({ day: new Date(fireAt.getTime() - 12 * 3_600_000).toISOString().slice(0, 10) }),
    }),
  )
}
