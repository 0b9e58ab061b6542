import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Duration } from '../../core/duration.ts'
import { durationOption } from '../../core/options.ts'
import { secretsOption } from '../secrets.ts'

/** The header that a webhook is signed in. */
export const signatureHeader = 'Stint-Signature'

/** Secrets of webhooks have at least so many bytes. */
export const leastBytes = 16

/** `t=1700000000,v1=…,v1=…`: HMAC-SHA256 of `<t>.<body>` in hexadecimal, one for each secret. */
export function sign(body: string, secrets: readonly string[], seconds: number): string {
  return [
    `t=${seconds}`,
    ...secrets.map((secret) => `v1=${macOf(secret, seconds, body).toString('hex')}`),
  ].join()
}

export interface VerifyOptions {
  /** The body as it arrived, before it is parsed. */
  body: string | Uint8Array
  /** The header `Stint-Signature`. */
  signature: string | null | undefined
  /** The secret of the workers, or both while one is being replaced. */
  secrets: string | readonly string[]
  /** How old it may be: a request that is sent again later is refused. @default '5m' */
  tolerance?: Duration | undefined
}

/** Whether a webhook was signed with one of the secrets, and lately. */
export function verifyWebhook({ body, signature, secrets, tolerance = '5m' }: VerifyOptions): boolean {
  const known = secretsOption('secrets', secrets, { leastBytes })
  const toleranceMs = durationOption('tolerance', tolerance)
  const parts = typeof signature === 'string' ? signature.slice(0, 1_000).split(',') : []
  const seconds = Number(/^t=(\d{1,12})$/.exec(parts[0] ?? '')?.[1] ?? NaN)
  if (!(Math.abs(Date.now() - seconds * 1_000) <= toleranceMs)) return false
  const macs = parts.slice(1).flatMap((part) => {
    const hex = /^v1=([0-9a-f]{64})$/.exec(part)?.[1]
    return hex === undefined ? [] : [Buffer.from(hex, 'hex')]
  })
  return known.some((secret) => {
    const own = macOf(secret, seconds, body)
    return macs.some((mac) => timingSafeEqual(mac, own))
  })
}

function macOf(secret: string, seconds: number, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
}
