import { peek, withCauses } from './thrown.ts'

/** A server that asks for more than a day means another unit, or does not want our requests at all. */
const longestMs = 86_400_000
const mostCauses = 5

/**
 * How long the other side asked us to wait: the Retry-After header of the response that an error carries, or the
 * `retryAfter` in seconds that some clients make of it. Never throws.
 */
export function retryAfterMs(thrown: unknown, nowMs: number): number | undefined {
  for (const value of withCauses(thrown, mostCauses)) {
    const ms =
      parse(header(peek(value, 'headers')), nowMs) ??
      parse(header(peek(peek(value, 'response'), 'headers')), nowMs) ??
      secondsToMs(peek(value, 'retryAfter'))
    if (ms !== undefined) return Math.min(Math.max(0, Math.round(ms)), longestMs)
  }
  return undefined
}

/** From a Headers, a Map, or a plain object in any case of letters; the value is a list where a client keeps lists. */
function header(headers: unknown): unknown {
  const found = fromGet(headers) ?? fromNames(headers)
  return Array.isArray(found) ? peek(found, 0) : found
}

function fromGet(headers: unknown): unknown {
  const get = peek(headers, 'get')
  if (typeof get !== 'function') return undefined
  try {
    return Reflect.apply(get as (name: string) => unknown, headers, ['retry-after'])
  } catch {
    return undefined
  }
}

function fromNames(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return undefined
  try {
    const name = Object.keys(headers).find((key) => key.toLowerCase() === 'retry-after')
    return name === undefined ? undefined : peek(headers, name)
  } catch {
    return undefined
  }
}

function parse(value: unknown, nowMs: number): number | undefined {
  if (typeof value !== 'string') return secondsToMs(value)
  const text = value.trim()
  if (/^\d{1,12}(?:\.\d{1,6})?$/.test(text)) return secondsToMs(Number(text))
  // Date.parse makes a date of nearly anything, of '-5' too.
  if (!/^(?:[A-Z][a-z]{2,8}, \d|\d{4}-\d{2}-\d{2}T)/.test(text)) return undefined
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : atMs - nowMs
}

function secondsToMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value * 1_000 : undefined
}
