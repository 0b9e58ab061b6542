import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
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
const ended = new Set(['succeeded', 'cancelled', 'dead'])

/** `Prefer: wait=n` (RFC 7240): answers with the job's final state if the job ends in time, else with `accepted`. */
export async function afterWait(
  c: Context<Env>,
  { live, stint, contracts }: ConsoleParts,
  id: string,
  accepted: Response,
): Promise<Response> {
  const seconds = secondsOf(c.req.header('Prefer'))
  // A server may ignore a preference (RFC 7240), and then sends no Preference-Applied.
  if (seconds === 0 || !live.hasRoomToWait) return accepted
  await live.jobEnded(id, seconds * 1_000)
  accepted.headers.set('Preference-Applied', `wait=${seconds}`)
  const job = await stint.get(id, { blob: false })
  if (job === undefined || !ended.has(job.state)) return accepted
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
