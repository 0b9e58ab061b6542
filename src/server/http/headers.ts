import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { Env } from '../context.ts'
import { problemResponse } from './problem.ts'
import type { HttpProblem } from './problem.ts'

/** Nothing inline, nothing from elsewhere, framed by nobody unless the host says by whom. */
function contentSecurityPolicy(frameAncestors: string): string {
  return [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
    ...["worker-src 'self'", "base-uri 'self'", "form-action 'self'"],
    `frame-ancestors ${frameAncestors}`,
  ].join('; ')
}

/** Puts on an answer what every one has. */
export type Frame = (headers: Headers, requestId: string) => void

/** On every answer, also on failures: the request's id, and what browsers may do with it. */
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
    // What it shows is of this moment, and of this caller.
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
  }
}

/** All that the app answers. */
export function frameAnswers(frame: Frame): MiddlewareHandler<Env> {
  return async (c, next) => {
    const requestId = requestIdOf(c.req.header('X-Request-Id'))
    c.set('requestId', requestId)
    await next()
    frame(c.res.headers, requestId)
  }
}

/** An answer from in front of the app: too busy, too late, or with a body that is not there any more. */
export function refusal(
  problem: HttpProblem,
  { request, instance, frame }: { request: Request; instance: string; frame: Frame },
): Response {
  const requestId = requestIdOf(request.headers.get('X-Request-Id') ?? undefined)
  const response = problemResponse(problem, { instance, requestId })
  frame(response.headers, requestId)
  return response
}

/** A proxy's id is taken over where it is harmless in a log. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
