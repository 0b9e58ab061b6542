import { createHash } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { AskedRight, EarlierReply, KeptReply, OnceRequest } from '../../client/console/stored-replies.ts'
import type { Action } from '../api/common.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts, Env } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { HttpProblem } from './problem.ts'
import { AllOf } from '../auth/scope.ts'

/** Routes that store their answer themselves, in the same transaction as the jobs. */
const ownKeepers = new Set(['/v1/jobs', '/v1/jobs/batch'])

/**
 * `Idempotency-Key` on every POST: the first request is executed, and its repeats get the same answer. Only a successful
 * answer is stored; after a failure the same key may be used again. The permissions that the request needed are stored
 * with the answer, and a repeat gets the answer only if the caller still has them all.
 */
export function answerOnce({ stint }: ConsoleParts): MiddlewareHandler<Env> {
  return async (c, next) => {
    const request = onceRequest(c)
    if (request === undefined) return next()
    c.set('intentId', intentIdOf(request))
    if (ownKeepers.has(c.req.path)) return next()
    const earlier = await stint.replies.take(request)
    if (earlier?.type === 'kept') requireAgain(c, earlier.reply.asked)
    if (earlier !== undefined) return earlierResponse(earlier)
    const asked = noteRights(c)
    await next()
    // The request is answered even if its answer cannot be stored: that is no failure of the request.
    const ending = c.res.ok
      ? stint.replies.keep(request, { ...(await replyOf(c.res.clone())), asked: [...asked.values()] })
      : stint.replies.drop(request)
    await ending.catch(() => undefined)
    return undefined
  }
}

/** Permissions stored at most: only an operation over many queues and kinds checks more, and its answer names none of them. */
const mostAsked = 1_000

/** Records each permission that is checked from now on and that the caller has. */
function noteRights(c: Context<Env>): ReadonlyMap<string, AskedRight> {
  const asked = new Map<string, AskedRight>()
  const caller = c.get('caller')
  const can: Caller['can'] = (action, resource) => {
    const may = caller.can(action, resource)
    if (may && asked.size < mostAsked) {
      const right = { action, of: resource, ...(resource instanceof AllOf ? { isAll: true } : {}) }
      asked.set(JSON.stringify(right), right as AskedRight)
    }
    return may
  }
  c.set('caller', { ...caller, can })
  return asked
}

function requireAgain(c: Context<Env>, asked: readonly AskedRight[]): void {
  for (const { action, of, isAll } of asked)
    requirePermission(c, action as Action, isAll === true ? new AllOf(of) : of)
}

/** The idempotency key of a request with its scope and body digest; undefined without a key. */
export function onceRequest(c: Context<Env>): OnceRequest | undefined {
  if (c.req.method !== 'POST') return undefined
  const given = c.req.header('Idempotency-Key')
  if (given === undefined) return undefined
  // The header is a string of RFC 8941, in quotes; most clients send it without.
  const key = given.replace(/^"(.*)"$/, '$1')
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw invalidKey()
  return { scope: scopeOf(c), key, digest: digestOf(c) }
}

export function scopeOf(c: Context<Env>): string {
  return `${c.get('caller').actor} POST ${c.req.path}`
}

export function digestOf(c: Context<Env>): Buffer {
  return createHash('sha256')
    .update(c.get('body') ?? new Uint8Array())
    .digest()
}

export function earlierResponse(earlier: EarlierReply): Response {
  switch (earlier.type) {
    case 'busy':
      throw inFlight()
    case 'mismatch':
      throw otherBody()
    case 'kept':
      return keptResponse(earlier.reply, { 'Idempotency-Replayed': 'true' })
  }
}

export function keptResponse(
  { status, headers, body }: KeptReply,
  more: Readonly<Record<string, string>> = {},
): Response {
  const hasBody = status !== 204 && status !== 304
  return new Response(hasBody ? body : null, { status, headers: { ...headers, ...more } })
}

const keptHeaders = ['Content-Type', 'Location', 'ETag']

async function replyOf(response: Response): Promise<Omit<KeptReply, 'asked'>> {
  const headers: Record<string, string> = {}
  for (const name of keptHeaders) {
    const value = response.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return { status: response.status, headers, body: await response.text() }
}

/** A UUID derived from the scope and key. */
function intentIdOf({ scope, key }: OnceRequest): string {
  const hex = createHash('sha256').update(`${scope}\n${key}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function invalidKey(): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'invalid-idempotency-key',
    title: 'Invalid Idempotency-Key',
    detail: 'An Idempotency-Key is 1 to 200 printable ASCII characters without spaces, such as a UUID.',
  })
}

function inFlight(): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'request-in-flight',
    title: 'The same request is in progress',
    detail: 'Another request with this Idempotency-Key is in progress.',
    hint: 'Repeat the request in a moment to get the same answer.',
    headers: { 'Retry-After': '1' },
  })
}

function otherBody(): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'idempotency-key-reused',
    title: 'The Idempotency-Key was used for another request',
    detail: 'This Idempotency-Key was used with another body in the last 24 hours. Nothing was done.',
    hint: 'Use a new key for a new request.',
  })
}
