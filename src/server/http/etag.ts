import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { Env } from '../context.ts'

/**
 * Sets the ETag of the answer from its content, and returns whether the caller already has this content: then answer
 * `c.body(null, 304)`. Leave `asOf` out of the content: it differs each time, so no answer would be unchanged.
 */
export function isUnchanged(c: Context<Env>, content: unknown): boolean {
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)
  const tag = `W/"${digest}"`
  c.header('ETag', tag)
  // The browser must ask each time: the content or the caller's rights may have changed.
  c.header('Cache-Control', 'private, no-cache')
  const known = c.req.header('If-None-Match')
  return known !== undefined && known.split(',').some((one) => one.trim() === tag || one.trim() === '*')
}
