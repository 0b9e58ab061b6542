import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { Env } from '../context.ts'
import { problemResponse } from './problem.ts'
import type { HttpProblem } from './problem.ts'

/** Allows no inline code, nothing from other origins, and only the frame ancestors that the host names. */
function contentSecurityPolicy(frameAncestors: string): string {
  return [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
    ...["worker-src 'self'", "base-uri 'self'", "form-action 'self'"],
    `frame-ancestors ${frameAncestors}`,
  ].join('; ')
}

/** Sets the headers that every answer has. */
export type Frame = (headers: Headers, requestId: string) => void

/** The headers of every answer, also of failures: the request id, and what browsers may do with the answer. */
export function frameWith({ frameAncestors }: { frameAncestors: string }): Frame {
  const always = {
    'Content-Security-Policy': contentSecurityPolicy(frameAncestors),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
  return (headers, requestId) => {
    headers.set('X-Request-Id', requestId)
    for (const [name, value] of Object.entries(always)) headers.set(name, value)
    // An answer is for this caller and out of date a moment later.
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
  }
}

/** Middleware that sets these headers on every answer of the app. */
export function frameAnswers(frame: Frame): MiddlewareHandler<Env> {
  return async (c, next) => {
    const requestId = requestIdOf(c.req.header('X-Request-Id'))
    c.set('requestId', requestId)
    await next()
    frame(c.res.headers, requestId)
  }
}

/** The answer to a request that fails outside the app: the console is busy, too slow, or the body was already read. */
export function refusal(
  problem: HttpProblem,
  { request, instance, frame }: { request: Request; instance: string; frame: Frame },
): Response {
  const requestId = requestIdOf(request.headers.get('X-Request-Id') ?? undefined)
  const response = problemResponse(problem, { instance, requestId })
  frame(response.headers, requestId)
  return response
}

/** The request id of a proxy, if it is safe to log, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
