/*
 * A caller who is narrowed to one queue learns nothing of another one: not from answers, not from refusals, and not from
 * what an action does. Every route of the OpenAPI document is requested: a route without a request here fails.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import type { Console, Identity } from '../../src/server.ts'
import { consoleOpenApi, createConsoleWithin } from '../../src/server/console.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually, workerScene } from '../support/workers.ts'
import { EventReader } from './event-reader.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { call, patient } from './scene.ts'
import type { Answer } from './scene.ts'

/** Part of the name of everything that the caller may not see. */
const mark = 'zqsecret'

interface Side {
  contract: JobContract
  key: string
  schedule: string
  error: string
  group: string
}
const own: Side = {
  contract: defineJob({ kind: 'mail.send', queue: 'mail' }),
  key: 'acme',
  schedule: 'mail.nightly',
  error: 'no such box',
  group: 'aaaaaaaaaaaaaaaa',
}
const secret: Side = {
  contract: defineJob({ kind: `${mark}.kind`, queue: `${mark}.queue` }),
  key: `${mark}-key`,
  schedule: `${mark}.nightly`,
  error: `${mark} broke`,
  group: 'bbbbbbbbbbbbbbbb',
}

/** What exists of each side. */
interface Planted {
  ready: string
  running: string
  dead: string
  trashed: string
  finished: string
  operation: string
  worker: string
}

const scene = workerScene()
let mine: Planted
let theirs: Planted
beforeAll(async () => {
  mine = await plant(own, 'mel')
  theirs = await plant(secret, `${mark}-ana`)
  // One process may serve both queues.
  await givenWorker(scene.db, {
    queues: { mail: 1, [secret.contract.queue]: 1 },
    kinds: ['mail.send', secret.contract.kind],
  })
  // The consoles execute operations, and their worker takes back the jobs of lost workers.
  await scene.db.query(`update stint.worker set lease_until = now() + interval '1 hour'`)
  await scene.db.query(
    `insert into stint.service (name, last_error, last_error_at) values ('fires', $1, now())
     on conflict (name) do update set last_error = excluded.last_error, last_error_at = now()`,
    [`${mark}: no such schedule`],
  )
})

async function plant(side: Side, actor: string): Promise<Planted> {
  const { contract, key, schedule, error, group } = side
  const { queue, kind } = contract
  const text = kind.startsWith(mark) ? mark : 'plain'
  const correlationId = 'shared'
  const add = async (): Promise<string> =>
    (await scene.stint.enqueue(contract, { text }, { key, correlationId })).id
  const worker = await givenWorker(scene.db, {
    host: `${text}-host`,
    queues: { [queue]: 3 },
    kinds: [kind],
    version: `${text}-v1`,
    silentFor: '26 seconds',
  })
  const [ready, running, dead, trashed, finished] = [
    ...[await add(), await add(), await add(), await add(), await add()],
  ] as [string, string, string, string, string]
  await scene.db.query(
    `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), started_at = now() where id = $1`,
    [running, worker],
  )
  const broken = { name: `${text}Error`, message: error, stack: `${error}\n at x`, fingerprint: group }
  for (const id of [dead, trashed]) await bury(scene.db, id, { error: broken, fingerprint: group })
  await scene.stint.dead.discard(trashed)
  await scene.stint.cancel(finished)
  await scene.db.query(
    `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'info', $2, $3)`,
    [running, `${text} said`, { text }],
  )
  await scene.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, $2, 'transient', $3, $4, $4, now(), now(), $5)`,
    [group, kind, `${text}Error`, error, dead],
  )
  await scene.db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ($1, date_trunc('hour', now()), $2, 1, 5, 3)`,
    [group, randomUUID()],
  )
  await scene.stint.schedules.set({ name: schedule, job: contract, input: { text }, cron: '0 2 1 1 *' })
  await scene.db.query(`update stint.schedule set failures = 2, last_error = $2 where name = $1`, [
    schedule,
    error,
  ])
  await givenMinute(scene.db, { queue, kind, ago: 1, succeeded: 7, dead: 3 })
  const as = scene.stint.as({ actor, role: 'operator', origin: 'cli' })
  const { id: operation } = await as.operations.start({
    action: 'replay',
    where: `queue:${queue} error:${group}`,
    reason: `${text} reason`,
  })
  await scene.db.query(`update stint.operation set state = 'stopped', note = $2 where id = $1`, [
    operation,
    `${text} note`,
  ])
  return { ready, running, dead, trashed, finished, operation, worker }
}

/** The ways in which a host may narrow a caller; they differ in what they answer where no queue is given. */
const hosts: Record<string, NonNullable<Identity['can']>> = {
  'that lets through what has no queue': (_, of) => of?.queue === undefined || of.queue === 'mail',
  'that wants to know the queue': (_, of) => of === undefined || of.queue === 'mail',
  'that forbids one queue': (_, of) => of?.queue !== secret.contract.queue,
}

const consoles = new Map<Identity['can'], Console>()
afterAll(async () => {
  for (const served of consoles.values()) await served.close()
})

/** One console for each host, because a route is requested hundreds of times. */
function consoleOf(can: Identity['can']): Console {
  const known = consoles.get(can)
  if (known !== undefined) return known
  const served = createConsoleWithin(patient, {
    connection: scene.db.url,
    contracts: [own.contract, secret.contract],
    auth: () => ({ actor: 'scoped', role: 'admin', origin: 'api', can }),
    onError: (error) => {
      throw error
    },
  })
  consoles.set(can, served)
  return served
}

interface Described {
  'x-action'?: string
}
const document = consoleOpenApi() as { paths: Record<string, Record<string, Described>> }
const routes = Object.entries(document.paths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'patch', 'delete'].flatMap((method) =>
    item[method] === undefined ? [] : [`${method.toUpperCase()} ${path}`],
  ),
)

interface Sent {
  query?: string
  json?: unknown
}

/** The requests of each route about a side; some routes have several. */
const requests: Record<string, (side: Side, of: Planted) => Sent[]> = {
  'GET /v1/me': () => [{}],
  'GET /v1/openapi.json': () => [{}],
  'GET /v1/health/live': () => [{}],
  'GET /v1/health/ready': () => [{}],
  'GET /v1/overview': () => [{}],
  'GET /v1/queues': () => [{}],
  'GET /v1/queues/{queue}': () => [{}],
  'PATCH /v1/queues/{queue}': () => [{ json: { keep: '2d', reason: 'disk' } }],
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
  'GET /v1/jobs/{id}/lineage': () => [{}],
  'GET /v1/jobs/{id}/result': () => [{}],
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
  'GET /v1/events': ({ contract: { queue } }, { ready, operation }) => [
    { query: '?topics=overview,workers' },
    { query: `?topics=job:${ready}` },
    { query: `?topics=queue:${queue}` },
    { query: `?topics=operation:${operation}` },
  ],
}

/** The path with the names of a side in it. */
function pathOf(route: string, { contract, group, schedule }: Side, of: Planted): string {
  const isOperation = route.includes('/operations/')
  return route
    .replace('{queue}', contract.queue)
    .replace('{group}', group)
    .replace('{name}', schedule)
    .replace('{id}', isOperation ? of.operation : route.includes('/re') ? of.dead : of.ready)
}

async function ask(served: Console, path: string, { query = '', json }: Sent): Promise<Answer> {
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

/** Everything of the other side, as it is stored. */
async function stored(): Promise<unknown> {
  const of = [secret.contract.queue]
  return {
    jobs: await scene.db.query(`select * from stint.job where queue = $1 order by id`, of),
    dead: await scene.db.query(`select * from stint.dead where queue = $1 order by id`, of),
    queue: await scene.db.query(`select * from stint.queue where name = $1`, of),
    schedules: await scene.db.query(`select * from stint.schedule where name = $1`, [secret.schedule]),
    fires: await scene.db.query(`select * from stint.fire where schedule = $1`, [secret.schedule]),
    groups: await scene.db.query(`select * from stint.error_group where fingerprint = $1`, [secret.group]),
    operations: await scene.db.query(`select * from stint.operation where id = $1`, [theirs.operation]),
    hit: await scene.db.query(
      `select operation_job.id from stint.operation_job join stint.operation on operation.id = operation_id
        where actor = 'scoped' and operation_job.id = any($1::uuid[])`,
      [Object.values(theirs)],
    ),
  }
}

/** The parts of an answer that do not depend on the time of the request. */
function still({ status, text }: Answer): { status: number; text: string } {
  const quiet = text
    .replaceAll(/"requestId":"[^"]*"/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
  return { status, text: quiet }
}

/** Like the other side, with names and ids that do not exist. */
const unknownSide: Side = {
  contract: defineJob({ kind: 'zqnobody.kind', queue: 'zqnobody.queue' }),
  key: 'zqnobody-key',
  schedule: 'zqnobody.nightly',
  error: 'x',
  group: 'cccccccccccccccc',
}
function unknownIds(): Planted {
  const { operation } = theirs
  const like = (id: string): string => id.slice(0, 24) + randomUUID().slice(24)
  return {
    ready: like(theirs.ready),
    running: like(theirs.running),
    dead: like(theirs.dead),
    trashed: like(theirs.trashed),
    finished: like(theirs.finished),
    operation: like(operation),
    worker: randomUUID(),
  }
}

/**
 * Routes that show the other side to a caller who may see everything: without this the tests below would prove nothing.
 */
const telling = [
  ...[
    'GET /v1/overview',
    'GET /v1/queues',
    'GET /v1/workers',
    'GET /v1/leases',
    'GET /v1/system',
    'GET /v1/kinds',
  ],
  ...['GET /v1/metrics', 'GET /v1/audit', 'GET /v1/jobs', 'GET /v1/operations', 'GET /v1/error-groups'],
  ...['GET /v1/schedules', 'GET /v1/events'],
]

test('every route has a request here', () => {
  expect(Object.keys(requests).sort()).toEqual([...routes].sort())
})

test.each(telling)('%s names the other side to a caller who may see it', async (route) => {
  const served = consoleOf(undefined)
  const [first = {}] = requests[route]?.(own, mine) ?? []
  expect((await ask(served, route, first)).text).toContain(mark)
})

describe.each(Object.entries(hosts))('a host %s', (_, can) => {
  const isAllowList = !can('view', { queue: 'zqnobody.queue' })

  test.each(routes)('%s names nothing of the other side', async (route) => {
    const served = consoleOf(can)
    for (const sent of requests[route]?.(own, mine) ?? [])
      if (!route.startsWith('DELETE')) {
        const answer = await ask(served, pathOf(route, own, mine), sent)
        expect(answer.text, JSON.stringify(sent)).not.toContain(mark)
        expect(answer.status, `${JSON.stringify(sent)} ${answer.text}`).toBeLessThan(500)
      }
  })

  test.each(routes)(
    '%s answers as if the other side did not exist, and changes nothing of it',
    async (route) => {
      const served = consoleOf(can)
      const before = await stored()
      const asked = requests[route]?.(secret, theirs) ?? []
      const unknown = unknownIds()
      const instead = requests[route]?.(unknownSide, unknown) ?? []
      for (const [index, sent] of asked.entries()) {
        const answer = await ask(served, pathOf(route, secret, theirs), sent)
        const isAskedFor = JSON.stringify([pathOf(route, secret, theirs), sent]).includes(mark)
        if (!isAskedFor) expect(answer.text, JSON.stringify(sent)).not.toContain(mark)
        expect(answer.status).toBeLessThan(500)
        // A host that denies one queue allows every other name.
        if (!isAllowList || !isByName(route)) continue
        const other = await ask(served, pathOf(route, unknownSide, unknown), instead[index] ?? {})
        const named = still(answer)
        expect({
          ...named,
          text: named.text.replaceAll(mark, 'zqnobody').replaceAll('b'.repeat(16), 'c'.repeat(16)),
        }).toEqual(still(other))
      }
      expect(await stored()).toEqual(before)
    },
  )
})

/*
 * A deny list: it allows every queue and every kind, so it decides job by job. The jobs it denies share their queue, kind
 * and correlation with jobs it allows.
 */
describe('a host that forbids one key', () => {
  const keyMark = 'zqhidden'
  const can: NonNullable<Identity['can']> = (_, of) => of?.key !== `${keyMark}-key`
  const shared: Side = {
    contract: defineJob({ kind: 'shared.kind', queue: 'shared' }),
    key: 'open',
    schedule: 'shared.nightly',
    error: 'no luck',
    group: 'dddddddddddddddd',
  }
  let open: Planted
  let closed: Planted
  beforeAll(async () => {
    open = await plant(shared, 'sam')
    closed = { ...open, ...(await plantHidden()) }
    // The worker that executes operations takes jobs back from lost workers.
    await scene.db.query(`update stint.worker set lease_until = now() + interval '1 hour'`)
  })

  /** Jobs with the hidden key in every state, and an operation over the whole queue. */
  async function plantHidden(): Promise<Omit<Planted, 'worker'>> {
    const group = 'eeeeeeeeeeeeeeee'
    const { contract } = shared
    const { jobs } = await scene.stint.enqueueMany(
      contract,
      [1, 2, 3, 4, 5].map(() => ({ text: keyMark })),
      {
        key: `${keyMark}-key`,
        correlationId: 'shared',
      },
    )
    const ids = jobs.map(({ id }) => id) as [string, string, string, string, string]
    const [ready, running, dead, trashed, finished] = ids
    await scene.db.query(
      `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), started_at = now() where id = $1`,
      [running, open.worker],
    )
    const error = { name: `${keyMark}Error`, message: `${keyMark} broke`, fingerprint: group }
    for (const id of [dead, trashed]) await bury(scene.db, id, { error, fingerprint: group })
    await scene.stint.dead.discard(trashed)
    await scene.stint.cancel(finished)
    await scene.db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
       values ($1, $2, 'transient', $3, $4, $4, now(), now(), $5)`,
      [group, contract.kind, error.name, error.message, dead],
    )
    await scene.db.query(
      `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
       values ($1, date_trunc('hour', now()), $2, 1, 5, 3)`,
      [group, randomUUID()],
    )
    const as = scene.stint.as({ actor: `${keyMark}-ana`, role: 'operator', origin: 'cli' })
    const what = { where: 'queue:shared state:dead', reason: `${keyMark} reason` } as const
    const { id: operation } = await as.operations.start({ action: 'replay', ...what })
    await scene.db.query(`update stint.operation set state = 'stopped', note = $2 where id = $1`, [
      ...[operation, `${keyMark} note`],
    ])
    return { ready, running, dead, trashed, finished, operation }
  }

  test.each(routes)('%s shows no job with a hidden key, and changes none', async (route) => {
    const served = consoleOf(can)
    const hidden = [closed.ready, closed.running, closed.dead, closed.trashed, closed.finished]
    const rows = (): Promise<unknown> =>
      scene.db.query(
        `select id, state, priority, run_at, cancel_at, discarded_at from stint.jobs where id = any($1) order by id`,
        [hidden],
      )
    const before = await rows()
    // The hidden jobs by id, and everything by name that they share with others.
    for (const of of [closed, open])
      for (const sent of requests[route]?.(shared, of) ?? []) {
        if (route.startsWith('DELETE')) continue
        const answer = await ask(served, pathOf(route, shared, of), sent)
        expect(answer.text, JSON.stringify(sent)).not.toContain(keyMark)
        for (const id of hidden)
          if (!JSON.stringify([pathOf(route, shared, of), sent]).includes(id))
            expect(answer.text, JSON.stringify(sent)).not.toContain(id)
        expect(answer.status, `${JSON.stringify(sent)} ${answer.text}`).toBeLessThan(500)
        if (of === closed && route.includes('{id}')) expect(answer.status).toBe(404)
      }
    expect(await rows()).toEqual(before)
    const touched = await scene.db.query(
      `select operation_job.id from stint.operation_job join stint.operation on operation.id = operation_id
        where actor = 'scoped' and operation_job.id = any($1::uuid[])`,
      [hidden],
    )
    expect(touched).toEqual([])
  })
})

/** Whether the path names a thing: then the answer is the one for a thing that does not exist. */
function isByName(route: string): boolean {
  return route.includes('{')
}

describe('a narrowed caller', () => {
  test('a narrowed caller sees and does what the host allows', async () => {
    // The tests above may have replayed or discarded the other dead letters of the group.
    const { id } = await scene.stint.enqueue(own.contract, null, {})
    await bury(scene.db, id, { fingerprint: own.group })
    const served = consoleOf(hosts['that lets through what has no queue'])
    const names = async (path: string, name: string): Promise<unknown[]> => {
      const { body } = await call(served, path)
      return (body['items'] as Record<string, unknown>[]).map((item) => item[name])
    }
    expect(await names('GET /v1/queues', 'queue')).toEqual(['mail'])
    expect(await names('GET /v1/kinds', 'kind')).toEqual(['mail.send'])
    expect(await names('GET /v1/schedules', 'name')).toContain(own.schedule)
    expect(await names('GET /v1/error-groups', 'group')).toEqual([own.group])
    expect(await names('GET /v1/operations', 'id')).toContain(mine.operation)
    expect(await names('GET /v1/leases', 'jobId')).toContain(mine.running)
    expect(await names('GET /v1/workers', 'id')).toContain(mine.worker)
    expect((await call(served, 'GET /v1/stats?queue=mail')).status).toBe(200)
    expect((await call(served, 'GET /v1/stats')).status).toBe(403)
    expect((await call(served, 'GET /v1/audit')).status).toBe(403)
    const { body } = await call(served, 'GET /v1/overview')
    expect(body).toMatchObject({ workers: 2, queues: [{ queue: 'mail' }] })
    const titles = (body['problems'] as { title: string }[]).map(({ title }) => title)
    expect(titles).toEqual(
      expect.arrayContaining(['plainError: no such box', 'Schedule mail.nightly does not fire']),
    )
  })

  test('a narrowed caller acts on many jobs by ids or by a filter that names only allowed queues', async () => {
    const served = consoleOf(hosts['that lets through what has no queue'])
    const preview = async (target: object): Promise<Answer> =>
      call(served, 'POST /v1/operations', { json: { action: 'cancel', dryRun: true, ...target } })
    const { id } = await scene.stint.enqueue(own.contract, null, {})
    expect((await preview({ where: 'queue:mail' })).status).toBe(200)
    expect((await preview({ where: 'kind:mail.send' })).status).toBe(403)
    expect((await preview({ where: 'state:ready' })).status).toBe(403)
    expect((await preview({ where: `queue:mail,${secret.contract.queue}` })).status).toBe(404)
    const byIds = await preview({ ids: [id, theirs.ready] })
    expect(byIds.body).toMatchObject({ matched: { count: 1, exact: true }, samples: [{ id }] })
    expect((await preview({ ids: [theirs.ready] })).status).toBe(404)
  })

  test('a caller narrowed to a kind or a key neither sees nor acts on other jobs of the queue', async () => {
    const other = await scene.stint.enqueue(defineJob({ kind: 'mail.other', queue: 'mail' }), null, {
      key: 'other',
    })
    for (const [can, filter] of [
      [
        (_: unknown, of?: { kind?: string }) => of?.kind === undefined || of.kind === 'mail.send',
        'kind:mail.send',
      ],
      [
        (_: unknown, of?: { key?: string | null }) => of?.key === undefined || of.key === own.key,
        `key:${own.key}`,
      ],
    ] as const) {
      const served = consoleOf(can as Identity['can'])
      expect((await call(served, `GET /v1/jobs/${other.id}`)).status).toBe(404)
      const { body } = await call(served, 'GET /v1/jobs?where=queue:mail&limit=200')
      expect((body['items'] as { id: string }[]).map(({ id }) => id)).not.toContain(other.id)
      const cancel = { action: 'cancel', dryRun: true }
      const wide = await call(served, 'POST /v1/operations', { json: { ...cancel, where: 'queue:mail' } })
      expect(wide.status).toBe(403)
      const narrow = { ...cancel, where: `queue:mail ${filter}` }
      expect((await call(served, 'POST /v1/operations', { json: narrow })).status).toBe(200)
    }
  })
})
