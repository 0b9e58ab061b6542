/*
 * The API names a command line for each action. The tests type every one of them into a shell and check what it does: the
 * lines of the OpenAPI document and those of a job here, those of an operation in cli-lines-operations.test.ts.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JobState, Stint } from '../../src/index.ts'
import { consoleOpenApi } from '../../src/server/console.ts'
import { workerScene } from '../support/workers.ts'
import { givenIn } from './cli-lines-given.ts'
import { linesOfRules } from './cli-lines-rules.ts'
import type { Given, Line } from './cli-lines-rules.ts'
import { commandLinesIn, mail } from './cli-lines-scene.ts'
import { call, openConsole, tokens } from './scene.ts'

const scene = workerScene()
const { type, workOn, jobThat, stateOf } = commandLinesIn(scene)
const given = givenIn(scene)
const { schedule, errorGroup, worker, wantedOf } = given

async function trashed(): Promise<string> {
  const id = await jobThat('dead')
  await scene.stint.dead.discard(id)
  return id
}

async function operation(state: string): Promise<string> {
  const queue = `op.${randomUUID().slice(0, 8)}`
  await jobThat('dead', queue)
  const as = scene.stint.as({ actor: 'ana', role: 'operator', origin: 'api' })
  const { id } = await as.operations.start({ action: 'replay', where: `queue:${queue}`, reason: 'x' })
  await scene.db.query(`update stint.operation set state = $2, paused_in = 'pending' where id = $1`, [
    id,
    state,
  ])
  return id
}

const job = async (id = ''): ReturnType<Stint['get']> => scene.stint.get(id)
const run = async (id = ''): ReturnType<Stint['operations']['get']> => scene.stint.operations.get(id)
const statusOf = async (group = ''): Promise<unknown> => (await scene.stint.errors.get(group))?.status
const ruleOf = async (name = ''): ReturnType<Stint['schedules']['get']> => scene.stint.schedules.get(name)

const lines: Record<string, Line> = {
  'GET /v1/openapi.json': { says: '"openapi": "3.1' },
  'GET /v1/jobs': {
    given: async () => {
      const id = await jobThat('ready')
      return { id, where: `'id:${id} state:ready'` }
    },
    says: '{id}',
  },
  'GET /v1/jobs/{id}': { given: async () => ({ id: await jobThat('ready') }), says: '{id}' },
  'GET /v1/jobs/{id}/attempts': { given: async () => ({ id: await jobThat('dead') }), says: 'exhausted' },
  'GET /v1/jobs/{id}/why': { given: async () => ({ id: await jobThat('ready') }), says: '✓ live' },
  'GET /v1/jobs/{id}/why-twice': { given: async () => ({ id: await jobThat('dead') }), says: 'error' },
  'GET /v1/jobs/{id}/steps': {
    given: async () => {
      const id = await jobThat('ready')
      await scene.db.query(
        `insert into stint.step (job_id, name, n, seq, type, state, epoch) values ($1, 'fetch', 0, 0, 'step', 'done', 1)`,
        [id],
      )
      return { id }
    },
    says: 'fetch',
  },
  'GET /v1/jobs/{id}/logs': { given: async () => ({ id: await jobThat('running') }), says: '{id}' },
  'GET /v1/jobs/{id}/lineage': { given: async () => ({ id: await jobThat('ready') }), says: '{id}' },
  'GET /v1/jobs/{id}/result': { given: async () => ({ id: await jobThat('ready') }), says: '"result"' },
  'POST /v1/jobs/{id}/signals/{name}': {
    given: async () => ({ id: await jobThat('ready'), name: 'approved', payload: `'{"ok": true}'` }),
    becomes: ({ id }) =>
      scene.db.query('select name, payload, sent_by like $2 as typed from stint.signal where job_id = $1', [
        id,
        'cli:%',
      ]),
    to: [{ name: 'approved', payload: { ok: true }, typed: true }],
  },
  'POST /v1/jobs/{id}/replay': {
    given: async () => ({ id: await jobThat('dead') }),
    becomes: ({ id }) => stateOf(id),
    to: 'ready',
  },
  'POST /v1/jobs/{id}/cancel': {
    given: async () => ({ id: await jobThat('ready') }),
    becomes: ({ id }) => stateOf(id),
    to: 'cancelled',
  },
  'POST /v1/jobs/{id}/run-now': {
    given: async () => ({ id: await jobThat('scheduled') }),
    becomes: ({ id }) => stateOf(id),
    to: 'ready',
  },
  'POST /v1/jobs/{id}/reschedule': {
    given: async () => ({ id: await jobThat('ready') }),
    becomes: async ({ id }) => Math.round((Number((await job(id))?.runAt) - Date.now()) / 3_600_000),
    to: 1,
  },
  'POST /v1/jobs/{id}/reprioritize': {
    given: async () => ({ id: await jobThat('ready') }),
    becomes: async ({ id }) => (await job(id))?.priority,
    to: 5,
  },
  'POST /v1/jobs/{id}/discard': {
    given: async () => ({ id: await jobThat('dead') }),
    becomes: async ({ id }) => (await job(id))?.discardedAt,
    to: expect.any(Date),
  },
  'POST /v1/jobs/{id}/restore': {
    given: async () => ({ id: await trashed() }),
    becomes: async ({ id }) => (await job(id))?.discardedAt,
    to: null,
  },
  'POST /v1/jobs/{id}/edit-and-replay': {
    given: async () => ({ id: await jobThat('dead'), reason: 'typo' }),
    becomes: async ({ id }) => (await job((await job(id))?.replacedBy ?? ''))?.input,
    to: { to: 'ana' },
  },
  'POST /v1/operations': {
    given: async () => {
      await workOn('many.a')
      return { id: await jobThat('dead', 'many.a'), where: 'queue:many.a', reason: 'fixed' }
    },
    becomes: ({ id }) => stateOf(id),
    to: 'succeeded',
  },
  'GET /v1/operations': { given: async () => ({ id: await operation('done') }), says: '{id}' },
  'GET /v1/operations/{id}': { given: async () => ({ id: await operation('done') }), says: '{id}' },
  'GET /v1/operations/{id}/jobs': {
    given: async () => {
      const id = await operation('paused')
      const [noted] = await scene.db.query<{ id: string }>(
        `update stint.operation_job set outcome = 'acted' where operation_id = $1 returning id`,
        [id],
      )
      return { id, jobId: noted?.id ?? 'none' }
    },
    says: '{jobId}  acted',
  },
  'POST /v1/operations/{id}/abort': {
    given: async () => ({ id: await operation('paused') }),
    becomes: async ({ id }) => (await run(id))?.state,
    to: 'aborted',
  },
  'POST /v1/operations/{id}/pause': {
    given: async () => ({ id: await operation('pending') }),
    becomes: async ({ id }) => (await run(id))?.state,
    to: 'paused',
  },
  'POST /v1/operations/{id}/resume': {
    given: async () => ({ id: await operation('paused') }),
    becomes: async ({ id }) => (await run(id))?.state,
    to: 'pending',
  },
  'POST /v1/operations/{id}/pace': {
    given: async () => ({ id: await operation('pending'), pace: '7' }),
    becomes: async ({ id }) => (await run(id))?.pace,
    to: 7,
  },
  'GET /v1/error-groups': { given: async () => ({ group: await errorGroup() }), says: '{group}' },
  'GET /v1/error-groups/{group}': { given: async () => ({ group: await errorGroup() }), says: '{group}' },
  'POST /v1/error-groups/{group}/resolve': {
    given: async () => ({ group: await errorGroup() }),
    becomes: ({ group }) => statusOf(group),
    to: 'resolved',
  },
  'POST /v1/error-groups/{group}/ignore': {
    given: async () => ({ group: await errorGroup() }),
    becomes: ({ group }) => statusOf(group),
    to: 'ignored',
  },
  'POST /v1/error-groups/{group}/reopen': {
    given: async () => ({ group: await errorGroup({ isIgnored: true }) }),
    becomes: ({ group }) => statusOf(group),
    to: 'open',
  },
  ...linesOfRules(scene, { ...given, stateOf }),
  'GET /v1/schedules': { given: async () => ({ name: await schedule() }), says: '{name}' },
  'GET /v1/schedules/{name}': { given: async () => ({ name: await schedule() }), says: '{name}' },
  'GET /v1/schedules/{name}/next': { given: async () => ({ name: await schedule() }), says: '02:00:00' },
  'GET /v1/schedules/{name}/fires': { given: async () => ({ name: await schedule() }), says: '{name}' },
  'PUT /v1/schedules/{name}': {
    given: async () => ({ name: await schedule(), every: '2h' }),
    becomes: async ({ name }) => (await ruleOf(name))?.rule,
    to: 'every 2h',
  },
  'POST /v1/schedules/{name}/run': {
    given: async () => ({ name: await schedule() }),
    becomes: (_, said) => stateOf(said.trim()),
    to: 'ready',
  },
  'POST /v1/schedules/{name}/pause': {
    given: async () => ({ name: await schedule() }),
    becomes: async ({ name }) => (await ruleOf(name))?.isPaused,
    to: true,
  },
  'POST /v1/schedules/{name}/resume': {
    given: async () => ({ name: await schedule({ isPaused: true }) }),
    becomes: async ({ name }) => (await ruleOf(name))?.isPaused,
    to: false,
  },
  'POST /v1/schedules/{name}/backfill': {
    given: async () => ({ name: await schedule(), from: '2026-03-01T00:00:00Z', to: '2026-03-03T00:00:00Z' }),
    becomes: async ({ name = '' }) => (await scene.stint.schedules.fires(name)).map(({ outcome }) => outcome),
    to: ['fired', 'fired'],
  },
  'DELETE /v1/schedules/{name}': {
    given: async () => ({ name: await schedule() }),
    becomes: ({ name }) => ruleOf(name),
    to: undefined,
  },
  'GET /v1/audit': { says: 'ACTION' },
  'GET /v1/overview': { given: async () => ({ id: await jobThat('ready') }), says: 'mail' },
  'GET /v1/queues': { given: async () => ({ id: await jobThat('ready') }), says: 'mail' },
  'GET /v1/queues/{queue}': { given: () => ({ queue: 'mail' }), says: 'mail' },
  'PATCH /v1/queues/{queue}': {
    given: () => ({ queue: 'mail', keep: '2d', keepDead: 'forever' }),
    becomes: async () => (await scene.stint.queues.get('mail')).keepMs,
    to: 2 * 86_400_000,
  },
  'POST /v1/queues/{queue}/pause': {
    given: () => ({ queue: 'media', reason: 'busy' }),
    becomes: async () => (await scene.stint.queues.get('media')).pauses[0]?.reason,
    to: 'busy',
  },
  'POST /v1/queues/{queue}/resume': {
    given: async () => {
      await scene.stint.queues.pause('slow', { reason: 'busy' })
      return { queue: 'slow' }
    },
    becomes: async () => (await scene.stint.queues.get('slow')).pauses.length,
    to: 0,
  },
  'GET /v1/queues/{queue}/pressure': { given: () => ({ queue: 'mail' }), says: 'mail' },
  'POST /v1/queues/{queue}/drain': {
    given: () => ({ queue: 'drained' }),
    becomes: async () => (await scene.stint.pressure('drained')).state,
    to: 'closed',
  },
  'POST /v1/queues/{queue}/open': {
    given: async () => {
      await scene.stint.queues.drain('opened')
      return { queue: 'opened' }
    },
    becomes: async () => (await scene.stint.pressure('opened')).state,
    to: 'open',
  },
  'GET /v1/queues/{queue}/concurrency': {
    given: async () => {
      await scene.stint.queues.setConcurrency('wide', { concurrency: 4321 })
      return { queue: 'wide' }
    },
    says: '4321',
  },
  'PUT /v1/queues/{queue}/concurrency': {
    given: () => ({ queue: 'wider', concurrency: '8' }),
    becomes: async () => (await scene.stint.queues.concurrency('wider'))?.concurrency,
    to: 8,
  },
  'DELETE /v1/queues/{queue}/concurrency': {
    given: async () => {
      await scene.stint.queues.setConcurrency('narrow', { concurrency: 1 })
      return { queue: 'narrow' }
    },
    becomes: () => scene.stint.queues.concurrency('narrow'),
    to: null,
  },
  'GET /v1/stats': { says: '' },
  'GET /v1/workers': { says: '' },
  'POST /v1/workers/{worker}/pause': {
    given: async () => ({ worker: await worker() }),
    becomes: ({ worker }) => wantedOf(worker),
    to: 'paused',
  },
  'POST /v1/workers/{worker}/resume': {
    given: async () => ({ worker: await worker({ isPaused: true }) }),
    becomes: ({ worker }) => wantedOf(worker),
    to: null,
  },
  'POST /v1/workers/{worker}/drain': {
    given: async () => ({ worker: await worker() }),
    becomes: ({ worker }) => wantedOf(worker),
    to: 'draining',
  },
  'GET /v1/leases': { given: async () => ({ id: await jobThat('running') }), says: '{id}' },
  'GET /v1/system': { says: 'PostgreSQL' },
}

const document = consoleOpenApi() as { paths: Record<string, Record<string, { 'x-cli'?: string }>> }
const described = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, route]) =>
    route['x-cli'] === undefined ? [] : [{ name: `${method.toUpperCase()} ${path}`, cli: route['x-cli'] }],
  ),
)

describe('a command line of the description', () => {
  test('every route with a command line has an entry here', () => {
    expect(described.map(({ name }) => name).sort()).toEqual(Object.keys(lines).sort())
  })

  const typeOne = async ({ name, cli }: (typeof described)[number]): Promise<void> => {
    const line = lines[name]
    if (line === undefined) throw new Error(`no line for ${name}`)
    const given = (await line.given?.()) ?? {}
    const said = await type(filledWith(cli, given))
    expect(said).toContain(filledWith(line.says ?? '', given))
    if (line.becomes !== undefined) expect(await line.becomes(given, said)).toEqual(line.to)
  }
  // A command that starts an operation also executes the operations of other tests that wait.
  const isAlone = ({ name }: { name: string }): boolean => name.includes('/operations')
  test.concurrent.each(described.filter((one) => !isAlone(one)))('$name: $cli', typeOne)
  test.each(described.filter(isAlone))('$name: $cli', typeOne)
})

function filledWith(text: string, given: Given): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => given[name] ?? whole)
}

interface Can {
  verb: string
  cli: string
}

describe('a command line of a job', () => {
  test.each<[JobState | 'trashed', string[]]>([
    ['dead', ['replay', 'edit-and-replay', 'discard']],
    ['trashed', ['restore']],
    ['scheduled', ['run-now', 'reschedule', 'reprioritize', 'cancel']],
    ['retrying', ['run-now', 'reschedule', 'reprioritize', 'cancel']],
    ['ready', ['reschedule', 'reprioritize', 'cancel']],
    ['running', ['cancel']],
  ])('the command lines of a job that is %s do what they say', async (state, verbs) => {
    const served = openConsole(scene.db.url, { contracts: [mail] })
    const linesOf = async (id: string): Promise<Can[]> =>
      (await call(served, `GET /v1/jobs/${id}`, { token: tokens.admin.token })).body['can'] as Can[]
    const give = (): Promise<string> => (state === 'trashed' ? trashed() : jobThat(state))
    expect((await linesOf(await give())).map(({ verb }) => verb)).toEqual(verbs)
    for (const verb of verbs) {
      const id = await give()
      const { cli = '' } = (await linesOf(id)).find((one) => one.verb === verb) ?? {}
      const said = await type(cli)
      const isAsked = verb === 'cancel' && state === 'running'
      if (isAsked) expect((await scene.stint.get(id))?.cancelRequestedAt).not.toBeNull()
      else {
        const line = lines[`POST /v1/jobs/{id}/${verb}`]
        expect(await line?.becomes?.({ id }, said)).toEqual(line?.to)
      }
    }
  })
})
