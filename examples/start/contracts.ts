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
  retry: { attempts: 8 },
  search: (input) => ({ to: input.to, template: input.template }),
})

export const chargeCard = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  input: z.object({ orderId: z.number().int(), cents: z.number().int().positive() }),
  priority: 10,
})

export const syncAccount = defineJob({
  kind: 'account.sync',
  queue: 'sync',
  input: z.object({ account: z.string() }),
  // However often an account changes, it is synchronised once, a little later, with what is newest.
  unique: { by: (input) => input.account, until: 'started', onConflict: 'debounce' },
})
