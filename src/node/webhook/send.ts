import { request as requestHttp } from 'node:http'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isStintError, StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { sign, signatureHeader } from './signature.ts'
import { findTarget } from './target.ts'
import type { Address, Target, TargetRules } from './target.ts'

/** A signed POST to a target that another person chose. */
export interface Webhook {
  url: string
  /** JSON. */
  body: string
  /** The same for every repeat, so that the receiver can recognise one. */
  id: string
}

export interface SendConfig extends TargetRules {
  /** Each of them signs: one, or two while one is being replaced. */
  secrets: readonly string[]
  /** For the name, the connection and the answer together. @default 5,000 */
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

const usualTimeoutMs = 5_000
/** The most that is read of an answer. Its content is of no use, and is not kept. */
const mostAnswerBytes = 64 * 1024

/**
 * Sends a webhook and returns the status of the answer, a 2xx. Throws `webhook-refused` for a target that must not be
 * called, which another try does not change, and `webhook-failed` if it could not be delivered.
 *
 * It connects only to the addresses that were checked, follows no redirect, and uses no connection twice.
 */
export async function sendWebhook(webhook: Webhook, config: SendConfig): Promise<number> {
  const { timeoutMs = usualTimeoutMs } = config
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = config.signal === undefined ? timeout : AbortSignal.any([timeout, config.signal])
  const origin = URL.canParse(webhook.url) ? new URL(webhook.url).origin : 'the target'
  let answer: Answer
  try {
    const target = await unlessAborted(findTarget(webhook.url, config), signal)
    answer = await post(target, webhook, { secrets: config.secrets, signal })
  } catch (error) {
    if (isStintError(error)) throw error
    const cause: unknown = signal.aborted ? signal.reason : error
    const why = timeout.aborted ? `no answer within ${timeoutMs} ms` : messageOf(cause)
    throw new StintError('webhook-failed', `The webhook to ${origin} was not delivered: ${why}.`, { cause })
  }
  const { status, retryAfter } = answer
  if (status >= 200 && status < 300) return status
  const cause = Object.assign(new Error(`Status ${status}`), {
    status,
    headers: { 'retry-after': retryAfter },
  })
  const isRedirect = status >= 300 && status < 400
  const why = isRedirect ? ', a redirect, which webhooks do not follow' : ''
  throw new StintError('webhook-failed', `${origin} answered the webhook with ${status}${why}.`, { cause })
}

interface Answer {
  status: number
  retryAfter: string | undefined
}

function post(
  { url, addresses }: Target,
  { body, id }: Webhook,
  { secrets, signal }: { secrets: readonly string[]; signal: AbortSignal },
): Promise<Answer> {
  const options: RequestOptions = {
    method: 'POST',
    signal,
    // A connection of its own: one that is kept could lead to an address that was checked for another webhook.
    agent: false,
    lookup: lookupOf(addresses),
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'User-Agent': 'stint',
      'Idempotency-Key': id,
      [signatureHeader]: sign(body, secrets, Math.floor(Date.now() / 1_000)),
    },
  }
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = send(url, options, (response) => {
      const { statusCode: status = 0, headers } = response
      // The status decides, however the rest of the answer ends.
      request.off('error', reject).on('error', () => undefined)
      readAway(response, () => {
        request.destroy()
        resolve({ status, retryAfter: headers['retry-after'] })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Reads an answer without keeping it, so that the receiver can send it to its end. */
function readAway(response: IncomingMessage, onOver: () => void): void {
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > mostAnswerBytes) onOver()
  })
  response.on('error', () => undefined)
  response.once('close', onOver)
}

/** Answers every question for an address with those that were checked. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}

function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new Error('Aborted'))
    }
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort)
    })
  })
}
