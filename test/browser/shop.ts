import { z } from 'zod'
import { defineJob } from '../../src/index.ts'

/** Jobs of a small shop, as the screens show them. */
export const chargeCard = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  input: z.object({
    orderId: z.number().int(),
    cents: z.number().int().positive(),
    card: z.object({ brand: z.string(), last4: z.string().length(4) }),
  }),
  key: (input) => `customer-${input.orderId % 7}`,
  retry: { attempts: 1 },
  search: (input) => ({ brand: input.card.brand }),
})
export const sendMail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({ to: z.email(), template: z.enum(['welcome', 'receipt', 'reminder']) }),
  retry: { attempts: 4, backoff: ['2s', '5s', '10s'] },
})
export const resizeImage = defineJob({
  kind: 'image.resize',
  queue: 'media',
  input: z.object({ imageId: z.string(), width: z.number().int().positive() }),
  retry: { attempts: 2, backoff: () => 1 },
})
export const renderReport = defineJob({
  kind: 'report.render',
  queue: 'exports',
  input: z.object({ month: z.string() }),
})
export const contracts = [chargeCard, sendMail, resizeImage, renderReport]

export function charge(orderId: number, cents = 1_250) {
  return { orderId, cents, card: { brand: orderId % 3 === 0 ? 'amex' : 'visa', last4: '4f21' } }
}
