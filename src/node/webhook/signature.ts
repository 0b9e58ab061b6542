import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Duration } from '../../core/duration.ts'
import { durationOption, invalidOption } from '../../core/options.ts'

/** The header that a webhook is signed in. */
export const signatureHeader = 'Stint-Signature'

const leastSecret = 16
const mostSecrets = 2

/** One secret, or two while one of them is being replaced. */
export function secretsOption(name: string, secrets: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  const areFine = given.every((one) => typeof one === 'string' && Buffer.byteLength(one) >= leastSecret)
  if (areFine && given.length >= 1 && given.length <= mostSecrets) return given as string[]
  // Without the value: it may be a secret.
  throw invalidOption(name, `one text of at least ${leastSecret} bytes, or a list of two`, '[hidden]')
}

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
  const known = secretsOption('secrets', secrets)
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
