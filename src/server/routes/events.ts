import { createRoute, z } from '@hono/zod-openapi'
import { LiveActivity, LiveDelta, LiveSnapshot, LiveTrouble, Topics } from '../api/events.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { missingOperation } from '../../operations/operation.ts'
import { isWithin } from '../answers/operation-scope.ts'
import { topicsIn } from '../live/topic.ts'
import type { Topic } from '../live/topic.ts'
import { HttpProblem } from '../http/problem.ts'
import { problems } from '../http/route-parts.ts'

const events = createRoute({
  method: 'get',
  path: '/v1/events',
  tags: ['Console'],
  summary: 'Live changes as server-sent events',
  description:
    'Events: snapshot, delta, activity, trouble, healed, reset, ping. To continue after a lost connection, send the id of the last event as Last-Event-ID, with the same topics.',
  'x-action': 'view',
  request: {
    query: z.object({ topics: Topics }),
    headers: z.object({ 'last-event-id': z.string().max(200).optional() }),
  },
  responses: {
    200: {
      description: 'A stream that ends when either side closes it.',
      content: {
        'text/event-stream': { schema: z.union([LiveSnapshot, LiveDelta, LiveActivity, LiveTrouble]) },
      },
    },
    ...problems(400, 401, 403, 404, 503),
  },
})

const mostTopics = 50

export const eventRoutes: Routes = (app, parts) => {
  const { live, identify, stint } = parts
  app.openapi(events, async (c) => {
    const caller = requirePermission(c, 'view')
    const { topics: text } = c.req.valid('query')
    const { topics, unknown } = topicsIn(text)
    if (unknown !== undefined || topics.length > mostTopics) throw badTopics(unknown)
    for (const topic of topics) {
      if (topic.type === 'queue') requirePermission(c, 'view', { queue: topic.of })
      if (topic.type !== 'operation' || caller.isNarrowed === false) continue
      const operation = await stint.operations.get(topic.of)
      if (operation !== undefined && !isWithin(caller, operation)) missingOperation(topic.of)
    }
    if (!live.hasRoomFor(caller.actor)) throw tooMany()
    // The router handles HEAD as GET and drops the body unread: a stream would stay open for ever.
    if (c.req.method === 'HEAD') return new Response(null, { headers: streamHeaders })
    const request = c.req.raw
    const stream = live.open({
      caller,
      topics,
      signal: request.signal,
      lastEventId: c.req.valid('header')['last-event-id'],
      recheck: () => identify(request),
    })
    return new Response(stream, { headers: streamHeaders })
  })
}

/** Proxies must not store, change or buffer the stream. */
const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
}

function badTopics(unknown: Topic['name'] | undefined): HttpProblem {
  const detail =
    unknown === undefined ? `At most ${mostTopics} topics.` : `There is no topic '${unknown.slice(0, 200)}'.`
  return new HttpProblem({
    status: 400,
    code: 'invalid-parameters',
    title: 'Unknown topics',
    detail,
    hint: 'Topics are overview, workers, queue:<name>, job:<id> and operation:<id>, separated by commas.',
    errors: [{ pointer: '/query/topics', message: detail }],
  })
}

function tooMany(): HttpProblem {
  return new HttpProblem({
    status: 503,
    code: 'too-many-streams',
    title: 'Too many streams',
    detail: 'You or the console have reached the limit of open streams.',
    hint: 'Close some streams. One stream can follow 50 topics.',
    headers: { 'Retry-After': '10' },
  })
}
