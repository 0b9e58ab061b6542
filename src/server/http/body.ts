import type { MiddlewareHandler } from 'hono'
import type { Env } from '../context.ts'
import { HttpProblem } from './problem.ts'
import { isSafe } from './same-origin.ts'

const megabyte = 1_048_576
/** How long a body may take to arrive. */
const bodyWithinMs = 20_000

/**
 * Reads the body of a request that changes data: JSON only, with a limit that is checked while the body streams. Later
 * handlers find the body in `c.req`, and its bytes in the variable `body`.
 */
export function takeBody(): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (isSafe(c.req.method)) return next()
    const { raw } = c.req
    const maxBytes = c.req.path === '/v1/jobs/batch' ? 4 * megabyte : megabyte
    const body = await readBody(raw, { maxBytes, withinMs: bodyWithinMs })
    c.set('body', body)
    const headers = new Headers(raw.headers)
    if (body.length === 0) headers.delete('Content-Type')
    else {
      if (!isJson(headers.get('Content-Type'))) throw notJson()
      checkNumbers(textOf(body))
    }
    c.req.raw = new Request(raw.url, {
      method: raw.method,
      headers,
      signal: raw.signal,
      ...(body.length === 0 ? {} : { body }),
    })
    return next()
  }
}

/** Reads the whole body. Throws as soon as it is too large, without reading the rest. */
export async function readBody(
  request: Request,
  { maxBytes, withinMs }: { maxBytes: number; withinMs: number },
): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.bodyUsed) throw bodyConsumed()
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(tooSlow())
    }, withinMs)
  })
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), tooLate])
      if (done) break
      bytes += value.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      chunks.push(value)
    }
  } catch (error) {
    void reader.cancel().catch(() => undefined)
    throw error instanceof HttpProblem ? error : brokenBody()
  } finally {
    clearTimeout(timer)
  }
  const whole = new Uint8Array(bytes)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}

function isJson(contentType: string | null): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw malformed()
  }
}

/**
 * The JSON tokens that matter here: strings, which are skipped, and numbers. Only for text that is valid JSON, where
 * matching takes linear time: with an unclosed string it would start again at each later quote.
 */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/**
 * Refuses an integer past 2^53 that JavaScript would round silently: the job would get another number than was sent, such
 * as the id of another order. The sender has to send it as a string.
 */
function checkNumbers(text: string): void {
  if (!/\d{16}/.test(text)) return
  requireJson(text)
  for (const [token] of text.matchAll(tokens)) {
    if (token.length < 16 || !/^-?\d+$/.test(token)) continue
    // A number of more than 309 digits is infinite as a double; BigInt of thousands of digits would be slow.
    if (!Number.isFinite(Number(token)) || BigInt(token) !== BigInt(Number(token)))
      throw tooLargeNumber(token)
  }
}

function requireJson(text: string): void {
  try {
    JSON.parse(text)
  } catch {
    throw malformed()
  }
}

export function malformed(): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'malformed-json',
    title: 'The body is not JSON',
    detail: 'The body is not valid JSON in UTF-8.',
  })
}

function notJson(): HttpProblem {
  return new HttpProblem({
    status: 415,
    code: 'unsupported-media-type',
    title: 'The body must be JSON',
    detail: 'The content type of the body is not application/json.',
    hint: 'Content-Type: application/json',
    headers: { 'Accept-Post': 'application/json' },
  })
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'body-too-large',
    title: 'The body is too large',
    detail: `This route accepts bodies of at most ${maxBytes.toLocaleString('en')} bytes. The rest was not read.`,
    hint: 'Store large data elsewhere and send a reference, or split a batch.',
    headers: { Connection: 'close' },
  })
}

function tooSlow(): HttpProblem {
  return new HttpProblem({
    status: 408,
    code: 'body-timeout',
    title: 'The body took too long',
    detail: `The body did not arrive within ${bodyWithinMs / 1_000} seconds.`,
    headers: { Connection: 'close' },
  })
}

function brokenBody(): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'body-broken',
    title: 'The body is incomplete',
    detail: 'The connection ended before the whole body arrived.',
    headers: { Connection: 'close' },
  })
}

export function bodyConsumed(): HttpProblem {
  return new HttpProblem({
    status: 500,
    code: 'body-consumed',
    title: 'The body was already read',
    detail: 'A middleware read the body of this request before the console.',
    hint: 'Mount the console before body parsers such as express.json().',
  })
}

function tooLargeNumber(token: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'number-too-large',
    title: 'A number would be rounded',
    detail: `The body has an integer of ${token.length} digits, which JavaScript cannot hold exactly. Nothing was done.`,
    hint: 'Send the number as a string.',
  })
}
