import { randomUUID } from 'node:crypto'
import type { JobContract } from '../../src/index.ts'
import type { Console } from '../../src/server.ts'
import { consoleOpenApi } from '../../src/server/console.ts'
import { eventually } from '../support/workers.ts'
import { EventReader } from './event-reader.ts'
import { call } from './scene.ts'
import type { Answer } from './scene.ts'

/** The names of things that belong together: what a caller may see, or what it may not see. */
export interface Side {
  contract: JobContract
  key: string
  schedule: string
  error: string
  group: string
}

/** What exists of each side. */
export interface Planted {
  ready: string
  running: string
  dead: string
  trashed: string
  finished: string
  operation: string
  worker: string
  flow: string
}

interface Described {
  'x-action'?: string
}
const document = consoleOpenApi() as { paths: Record<string, Record<string, Described>> }
/** Every route of the OpenAPI document. */
export const routes = Object.entries(document.paths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'patch', 'delete'].flatMap((method) =>
    item[method] === undefined ? [] : [`${method.toUpperCase()} ${path}`],
  ),
)

export interface Sent {
  query?: string
  json?: unknown
}

/** The requests of each route about a side; some routes have several. */
export const requests: Record<string, (side: Side, of: Planted) => Sent[]> = {
  'GET /v1/me': () => [{}],
  'GET /v1/openapi.json': () => [{}],
  'GET /v1/health/live': () => [{}],
  'GET /v1/health/ready': () => [{}],
  'GET /approvals/{token}': () => [{}],
  'POST /approvals/{token}': () => [{}],
  'GET /v1/overview': () => [{}],
  'GET /v1/queues': () => [{}],
  'GET /v1/queues/{queue}': () => [{}],
  'PATCH /v1/queues/{queue}': () => [{ json: { keep: '2d', reason: 'disk' } }],
  'POST /v1/queues/{queue}/pause': ({ contract: { kind }, key }) => [
    { json: { reason: 'try' } },
    { json: { kind, reason: 'try' } },
    { json: { key, for: '1h', reason: 'try' } },
  ],
  'POST /v1/queues/{queue}/resume': ({ contract: { kind }, key }) => [
    { json: {} },
    { json: { kind } },
    { json: { key } },
  ],
  'GET /v1/queues/{queue}/pressure': ({ key }) => [{}, { query: `?key=${key}` }],
  'POST /v1/queues/{queue}/drain': () => [{ json: { reason: 'moving' } }],
  'POST /v1/queues/{queue}/open': () => [{ json: {} }],
  'GET /v1/queues/{queue}/concurrency': () => [{}],
  'PUT /v1/queues/{queue}/concurrency': () => [{ json: { concurrency: 3, for: '1h', reason: 'backlog' } }],
  'DELETE /v1/queues/{queue}/concurrency': () => [{}],
  'POST /v1/workers/{worker}/pause': () => [{ json: { reason: 'deploy' } }],
  'POST /v1/workers/{worker}/resume': () => [{ json: {} }],
  'POST /v1/workers/{worker}/drain': () => [{ json: { reason: 'deploy' } }],
  'GET /v1/stats': ({ contract: { queue, kind } }) => [
    {},
    { query: `?queue=${queue}` },
    { query: `?kind=${kind}` },
    { query: `?queue=${queue}&kind=${kind}` },
  ],
  'GET /v1/workers': () => [{}],
  'GET /v1/leases': () => [{}],
  'GET /v1/system': () => [{}],
  'GET /v1/kinds': () => [{}],
  'GET /v1/metrics': () => [{}],
  'GET /metrics': () => [{}],
  'GET /v1/audit': ({ schedule }) => [{}, { query: `?target=${schedule}` }],
  'GET /v1/jobs': ({ contract: { queue, kind }, key, group }, { worker, dead }) => [
    ...[{}, { query: '?limit=1' }, { query: '?where=correlation:shared' }, { query: '?where=is:discarded' }],
    ...[
      `queue:${queue}`,
      `kind:${kind}`,
      `key:${key}`,
      `error:${group}`,
      `worker:${worker}`,
      `id:${dead}`,
    ].map((where) => ({ query: `?where=${encodeURIComponent(where)}` })),
    { query: `?where=${encodeURIComponent(`queue:mail,${queue} state:dead`)}` },
  ],
  'POST /v1/jobs': ({ contract: { kind } }) => [
    { json: { kind, input: { text: 'x' } } },
    // A kind that is nearly this one: the suggestion must not be a kind that the caller may not see.
    { json: { kind: `${kind}s`, input: null } },
  ],
  'POST /v1/jobs/batch': ({ contract: { kind } }) => [{ json: { jobs: [{ kind, input: { text: 'x' } }] } }],
  'GET /v1/jobs/{id}': () => [{}],
  'GET /v1/jobs/{id}/attempts': () => [{}],
  'GET /v1/jobs/{id}/logs': () => [{}],
  'GET /v1/jobs/{id}/why': () => [{}],
  'GET /v1/jobs/{id}/why-twice': () => [{}],
  'GET /v1/jobs/{id}/steps': () => [{}],
  'GET /v1/jobs/{id}/lineage': () => [{}],
  'GET /v1/jobs/{id}/result': () => [{}],
  'POST /v1/jobs/{id}/signals/{name}': () => [{ json: { payload: { text: 'x' } } }],
  'POST /v1/jobs/{id}/replay': () => [{ json: {} }],
  'POST /v1/jobs/{id}/cancel': () => [{ json: {} }],
  'POST /v1/jobs/{id}/run-now': () => [{ json: {} }],
  'POST /v1/jobs/{id}/reschedule': () => [{ json: { delay: '1h' } }],
  'POST /v1/jobs/{id}/reprioritize': () => [{ json: { priority: 5 } }],
  'POST /v1/jobs/{id}/discard': () => [{ json: {} }],
  'POST /v1/jobs/{id}/restore': () => [{ json: {} }],
  'POST /v1/jobs/{id}/edit-and-replay': () => [{ json: { input: { text: 'y' }, reason: 'try' } }],
  'GET /v1/operations': () => [{}],
  'GET /v1/operations/{id}': () => [{}],
  'GET /v1/operations/{id}/jobs': () => [{}, { query: '?outcome=acted' }],
  'POST /v1/operations': ({ contract: { queue, kind }, group }, { dead, ready }) =>
    [
      ...[
        { where: `queue:${queue}` },
        { where: `kind:${kind}` },
        { where: `error:${group}` },
        { ids: [dead] },
      ],
      ...[{ where: 'state:dead' }, { where: `queue:mail,${queue}` }, { where: `id:${dead},${ready}` }],
    ].flatMap((target) => [
      { json: { action: 'discard', ...target, dryRun: true } },
      { json: { action: 'discard', ...target, reason: 'try' } },
    ]),
  'POST /v1/operations/{id}/abort': () => [{ json: {} }],
  'POST /v1/operations/{id}/pause': () => [{ json: {} }],
  'POST /v1/operations/{id}/resume': () => [{ json: {} }],
  'POST /v1/operations/{id}/pace': () => [{ json: { pace: 5 } }],
  'GET /v1/error-groups': ({ contract: { kind } }) => [{}, { query: `?kind=${kind}` }],
  'GET /v1/error-groups/{group}': () => [{}],
  'POST /v1/error-groups/{group}/resolve': () => [{ json: {} }],
  'POST /v1/error-groups/{group}/ignore': () => [{ json: { for: '1h' } }],
  'POST /v1/error-groups/{group}/reopen': () => [{ json: {} }],
  'GET /v1/breakers': () => [{}, { query: '?limit=1' }],
  'GET /v1/breakers/{name}': () => [{}],
  'POST /v1/breakers/{name}/probe': () => [{ json: {} }],
  'POST /v1/breakers/{name}/open': () => [{ json: { for: '1m' } }],
  'POST /v1/breakers/{name}/close': () => [{ json: { for: '1m' } }],
  'POST /v1/breakers/{name}/reset': () => [{ json: {} }],
  'GET /v1/flows': () => [{}, { query: '?limit=1' }],
  'GET /v1/flows/{id}': () => [{}],
  'GET /v1/flows/{id}/graph': () => [{}],
  'POST /v1/flows/{id}/cancel': () => [{ json: {} }],
  'POST /v1/flows/{id}/replay': () => [{ json: {} }],
  'POST /v1/flows/{id}/rerun': () => [{ json: { from: 'first' } }],
  'POST /v1/jobs/{id}/resume': () => [{ json: {} }],
  'GET /v1/schedules': () => [{}, { query: '?limit=1' }],
  'GET /v1/schedules/{name}': () => [{}],
  'GET /v1/schedules/{name}/next': () => [{}],
  'GET /v1/schedules/{name}/fires': () => [{}],
  'PUT /v1/schedules/{name}': ({ contract: { kind } }) => [
    // The same rule that is stored.
    { json: { cron: '0 2 1 1 *' } },
    { json: { kind, cron: '0 2 1 1 *' } },
  ],
  'POST /v1/schedules/{name}/run': () => [{ json: {} }],
  'POST /v1/schedules/{name}/pause': () => [{ json: {} }],
  'POST /v1/schedules/{name}/resume': () => [{ json: {} }],
  'POST /v1/schedules/{name}/backfill': () => [
    { json: { from: '2026-03-01T00:00:00Z', to: '2026-03-03T00:00:00Z', dryRun: true } },
  ],
  'DELETE /v1/schedules/{name}': () => [{}],
  'GET /v1/limits': () => [{}, { query: '?limit=1' }],
  'GET /v1/limits/{name}': () => [{}],
  'PUT /v1/limits/{name}': () => [{ json: { max: 5, for: '1h' } }],
  'DELETE /v1/limits/{name}': () => [{}],
  'POST /v1/limits/{name}/delete': () => [{ json: {} }],
  'GET /v1/limits/{name}/keys': () => [{}],
  'PUT /v1/limits/{name}/keys/{key}': () => [{ json: { max: 5 } }],
  'DELETE /v1/limits/{name}/keys/{key}': () => [{}],
  'POST /v1/limits/{name}/penalise': () => [{ json: { for: '1s' } }],
  'GET /v1/events': ({ contract: { queue } }, { ready, operation }) => [
    { query: '?topics=overview,workers' },
    { query: `?topics=job:${ready}` },
    { query: `?topics=queue:${queue}` },
    { query: `?topics=operation:${operation}` },
  ],
}

/** The path with the names of a side in it. */
export function pathOf(route: string, { contract, group, schedule, key }: Side, of: Planted): string {
  const isOperation = route.includes('/operations/')
  const isFlow = route.includes('/flows/')
  return (
    route
      .replace('{queue}', contract.queue)
      .replace('{worker}', of.worker)
      .replace('{group}', group)
      // A limit has the name of the schedule.
      .replace('{name}', schedule)
      .replace('{key}', key)
      .replace(
        '{id}',
        isOperation ? of.operation : isFlow ? of.flow : route.includes('/re') ? of.dead : of.ready,
      )
  )
}

export async function ask(served: Console, path: string, { query = '', json }: Sent): Promise<Answer> {
  if (path === 'GET /v1/events') return listen(served, `/v1/events${query}`)
  if (path === 'GET /v1/system') return examined(served)
  const headers = path.startsWith('POST') ? { 'Idempotency-Key': randomUUID() } : {}
  return call(served, `${path}${query}`, { json, headers })
}

/** Waits for the doctor, whose findings come later than the first answer. */
async function examined(served: Console): Promise<Answer> {
  let answer = await call(served, 'GET /v1/system')
  await eventually(async () => {
    answer = await call(served, 'GET /v1/system')
    return answer.body['findingsAsOf'] !== null
  }, 'what the doctor found')
  return answer
}

/** What a stream sends until it has sent every topic. */
async function listen(served: Console, path: string): Promise<Answer> {
  const response = await served.fetch(new Request(`http://console.test${path}`))
  const { status, headers, body } = response
  if (status !== 200 || body === null) return { status, headers, text: await response.text(), body: {} }
  const reader = new EventReader(body)
  const topics = path.split('=')[1]?.split(',') ?? []
  const isShown = (topic: string): boolean => reader.events.some(({ data }) => data['topic'] === topic)
  await reader.until(() => topics.every(isShown), `${topics.join()} at first`)
  await reader.close()
  return { status, headers, text: JSON.stringify(reader.events), body: {} }
}
