// What producers and workers share. Nothing here needs a handler, a database or Node.
import { defineJob } from 'stint/contracts'
import { z } from 'zod'

export const resizeImage = defineJob({
  kind: 'image.resize',
  queue: 'media',
  input: z.object({ imageId: z.string(), width: z.number().int().positive() }),
  output: z.object({ url: z.string() }),
  key: (input) => input.imageId,
  timeout: '2m',
})

export const sendMail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({ to: z.email(), template: z.enum(['welcome', 'receipt', 'reminder']) }),
  // A short list, so that the screen soon shows what retries do.
  retry: { attempts: 4, backoff: ['2s', '5s', '10s'] },
  search: (input) => ({ to: input.to, template: input.template }),
})

export const chargeCard = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  input: z.object({ orderId: z.number().int(), cents: z.number().int().positive() }),
  priority: 10,
  retry: { attempts: 3, backoff: ['3s'] },
})

export const syncAccount = defineJob({
  kind: 'account.sync',
  queue: 'sync',
  input: z.object({ account: z.string() }),
  // However often an account changes, one job synchronises it a little later, with the newest data.
  unique: { by: (input) => input.account, until: 'started', onConflict: 'debounce' },
})

export const remindCarts = defineJob({
  kind: 'cart.remind',
  queue: 'mail',
})

export const closeBooks = defineJob({
  kind: 'books.close',
  queue: 'billing',
  input: z.object({ day: z.iso.date() }),
})

export const renderReport = defineJob({
  kind: 'report.render',
  queue: 'media',
  input: z.object({ reportId: z.number().int(), isPoison: z.boolean() }),
})
