import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isStintError } from '../core/errors.ts'
import { peek } from '../core/failures/thrown.ts'
import { defineJob, typed } from './define-job.ts'

/** The queue of webhooks, served by workers with the option `webhooks`. */
export const webhookQueue = 'stint.webhooks'

export interface WebhookInput {
  /** Where to send it: https, or a target that the worker allows. */
  url: string
  /** Sent as JSON; at most 64 KiB. */
  payload: unknown
}

const longestUrl = 2_048
const mostBytes = 64 * 1024

const input: StandardSchemaV1<WebhookInput> = {
  '~standard': {
    version: 1,
    vendor: 'stint',
    validate: (value) => {
      const [url, payload] = [peek(value, 'url'), peek(value, 'payload')]
      const issues = [
        ...(isHttpUrl(url)
          ? []
          : [{ path: ['url'], message: `is not an https URL of at most ${longestUrl} characters` }]),
        ...(isSmall(payload) ? [] : [{ path: ['payload'], message: 'is not JSON of at most 64 KiB' }]),
      ]
      return issues.length > 0 ? { issues } : { value: { url: url as string, payload } }
    },
  },
}

/** A webhook: a signed POST of JSON, sent by any worker with the option `webhooks`. */
export const webhookJob = defineJob({
  kind: 'stint.webhook',
  queue: webhookQueue,
  input,
  output: typed<{ status: number }>(),
  timeout: '15s',
  retry: {
    attempts: 10,
    backoff: ['10s', '1m', '5m', '30m', '2h', '6h'],
    // A target that the worker refuses is refused the next time too.
    classify: (error) => (isStintError(error, 'webhook-refused') ? 'permanent' : undefined),
  },
})

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > longestUrl || !URL.canParse(value)) return false
  return /^https?:$/.test(new URL(value).protocol)
}

function isSmall(payload: unknown): boolean {
  const text = payload === undefined ? undefined : JSON.stringify(payload)
  return text !== undefined && new TextEncoder().encode(text).length <= mostBytes
}
