import { webhookQueue } from '../contracts/webhook.ts'
import type { WebhookInput } from '../contracts/webhook.ts'
import { invalidOption, rejectUnknown } from '../core/options.ts'
import { sendWebhook } from '../node/webhook/send.ts'
import { secretsOption } from '../node/secrets.ts'
import { leastBytes } from '../node/webhook/signature.ts'
import { isOrigin } from '../node/webhook/target.ts'
import type { HandlerContext } from './attempt/handler-context.ts'

export interface WebhooksOptions {
  /** Signs the requests: a text of at least 16 bytes, or a list of two while receivers change from one to the other. */
  secrets: string | readonly string[]
  /**
   * Origins, such as 'http://10.0.0.7:8080', that may be called though they are inside or without TLS. @default none
   */
  allow?: readonly string[] | undefined
}

export interface WebhooksConfig {
  readonly secrets: readonly string[]
  readonly allow: readonly string[]
}

export function resolveWebhooks(options: WebhooksOptions | undefined): WebhooksConfig | undefined {
  if (options === undefined) return undefined
  const isObject = typeof options === 'object' && (options as object | null) !== null
  if (!isObject)
    throw invalidOption('webhooks', 'an object such as { secrets: process.env.WEBHOOK_SECRET }', options)
  const { secrets, allow = [], ...rest } = options
  rejectUnknown('webhooks', rest, ['secrets', 'allow'], 'webhooks.')
  if (!Array.isArray(allow)) throw invalidOption('webhooks.allow', 'a list of origins', allow)
  for (const origin of allow as unknown[])
    if (!isOrigin(origin))
      throw invalidOption('webhooks.allow', "origins such as 'http://10.0.0.7:8080', without a path", origin)
  return Object.freeze({
    secrets: secretsOption('webhooks.secrets', secrets, { leastBytes }),
    allow: [...(allow as string[])],
  })
}

const usualConcurrency = 10

/** The queues of a worker that sends webhooks; what is no object of queues stays as it is. */
export function withWebhookQueue(queues: unknown): unknown {
  const isObject = typeof queues === 'object' && queues !== null && !Array.isArray(queues)
  return isObject ? { [webhookQueue]: usualConcurrency, ...queues } : queues
}

/** The handler of webhooks. */
export function webhookHandler(
  config: WebhooksConfig,
): (input: WebhookInput, ctx: Pick<HandlerContext, 'jobId' | 'signal'>) => Promise<{ status: number }> {
  return async ({ url, payload }, { jobId, signal }) => {
    const webhook = { url, body: JSON.stringify(payload), id: jobId }
    return { status: await sendWebhook(webhook, { ...config, signal }) }
  }
}
