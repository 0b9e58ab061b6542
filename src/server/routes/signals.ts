import { createRoute, z } from '@hono/zod-openapi'
import { maxPayloadBytes } from '../../contracts/signal.ts'
import { byteLength } from '../../core/json/utf8.ts'
import { findJob } from '../answers/find-job.ts'
import { resourceOf } from '../answers/job-item.ts'
import { Id, Name } from '../api/common.ts'
import { SentSignal, SignalBody } from '../api/signal.ts'
import { requireOperator } from '../auth/operator.ts'
import type { Routes } from '../context.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'

const sendSignal = createRoute({
  method: 'post',
  path: '/v1/jobs/{id}/signals/{name}',
  tags: ['Jobs'],
  summary: 'Send a signal to a job that waits for it, or will',
  'x-action': 'flow',
  'x-cli': 'stint job signal {id} {name} --payload {payload}',
  request: { params: z.object({ id: Id, name: Name }), body: accepts(SignalBody) },
  responses: {
    200: {
      description: 'The signal is stored: its job takes it now, or when it asks for it.',
      content: { 'application/json': { schema: SentSignal } },
    },
    ...problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 503),
  },
})

export const signalRoutes: Routes = (app, parts) => {
  app.openapi(sendSignal, async (c) => {
    const { id, name } = c.req.valid('param')
    const { payload, key, reason } = c.req.valid('json')
    const job = await findJob(c, parts, id)
    const doing = {
      action: 'flow',
      act: 'job.signal',
      target: id,
      resource: resourceOf(job),
      reason,
    } as const
    const operator = await requireOperator(c, parts, doing)
    if (payload !== undefined && byteLength(JSON.stringify(payload)) > maxPayloadBytes) throw tooLarge()
    const sent = await operator.signal(id, name, payload, { key, reason })
    return c.json({ ...sent, asOf: new Date().toISOString() }, 200)
  })
}

function tooLarge(): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'body-too-large',
    title: 'The payload is too large',
    detail: 'The payload of a signal has at most 64 KiB.',
    hint: 'Store large data elsewhere and send a reference.',
  })
}
