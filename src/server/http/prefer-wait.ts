import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { isStintError } from '../../core/errors.ts'
import type { AcceptedJob } from '../api/job.ts'
import type { ConsoleParts, Env } from '../context.ts'
import { redactFor } from '../auth/redact.ts'

export const PreferHeader = z.object({
  prefer: z
    .string()
    .max(200)
    .optional()
    .describe('`wait=10`: answer when the job has ended, or after 10 seconds. At most 30 seconds.')
    .openapi({ example: 'wait=10' }),
})

const longestWaitS = 30
/** Each wait holds a request. The limit is half of the requests that the console answers at once (console.ts), so that it can answer others too. */
const mostWaits = 128

/** `Prefer: wait=n` (RFC 7240): answers with the job's final state if the job ends in time, else with `accepted`. */
export async function afterWait(
  c: Context<Env>,
  { waiting, stint, contracts }: ConsoleParts,
  id: string,
  accepted: Response,
): Promise<Response> {
  const seconds = secondsOf(c.req.header('Prefer'))
  // A server may ignore a preference (RFC 7240), and then sends no Preference-Applied.
  if (seconds === 0 || waiting.requests >= mostWaits) return accepted
  accepted.headers.set('Preference-Applied', `wait=${seconds}`)
  waiting.requests++
  const hasEnded = await stint
    .result(id, { timeout: seconds * 1_000, signal: c.req.raw.signal })
    .then(() => true, isEnding)
    .finally(() => waiting.requests--)
  // The job is stored: whatever ended the wait, this answer is right.
  const job = hasEnded ? await stint.get(id, { blob: false }) : undefined
  if (job === undefined) return accepted
  const body = (await accepted.json()) as AcceptedJob
  const caller = c.get('caller')
  const mayRead = caller.can('view.input', { queue: job.queue, kind: job.kind, key: job.key })
  const result = mayRead ? { result: redactFor(caller, { contracts }, job, job.result).value } : {}
  return new Response(JSON.stringify({ ...body, state: job.state, ...result, asOf: new Date() }), {
    status: 200,
    headers: accepted.headers,
  })
}

function secondsOf(prefer: string | undefined): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])/i.exec(prefer ?? '') ?? []
  return Math.min(Number(seconds ?? 0), longestWaitS)
}

function isEnding(error: unknown): boolean {
  return isStintError(error, 'job-dead') || isStintError(error, 'job-cancelled')
}
