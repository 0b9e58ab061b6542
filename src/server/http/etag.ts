import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { Env } from '../context.ts'

/**
 * Tags the answer with what it is made of, and says whether the caller has it already: then answer
 * `c.body(null, 304)`. Give what matters, without `asOf`: a time that differs makes every answer a new one.
 */
export function isUnchanged(c: Context<Env>, content: unknown): boolean {
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)
  const tag = `W/"${digest}"`
  c.header('ETag', tag)
  // Asked for each time all the same: what it shows may have changed since, and rights too.
  c.header('Cache-Control', 'private, no-cache')
  const known = c.req.header('If-None-Match')
  return known !== undefined && known.split(',').some((one) => one.trim() === tag || one.trim() === '*')
}
