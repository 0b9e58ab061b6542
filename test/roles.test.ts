import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { defineJob, flow, Stint } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import { ErrorWriter } from '../src/stats/errors/write-errors.ts'
import { countSettled } from '../src/stats/write/count-settled.ts'
import { StatWriter } from '../src/stats/write/write-stats.ts'
import { job, rolesScene } from './roles-scene.ts'
import { createEmptyDatabase } from './support/database.ts'
import { upkeepByHand } from './support/history.ts'

const schema = 'roles_test'
const scene = rolesScene(schema)
const { login, may } = scene

async function tables(): Promise<string[]> {
  const rows = await scene.db.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'p', 'v') order by 1`,
  )
  return rows.map(({ name }) => name)
}

describe('the producer', () => {
  test('the producer role enqueues in every way', async () => {
    const { stint } = login('producer')
    await stint.enqueue(job, { n: 1 })
    await stint.enqueue(job, { n: 2 }, { unique: {}, idempotencyKey: 'a' })
    await stint.enqueueMany(
      job,
      Array.from({ length: 6_000 }, (_, n) => ({ n })),
    )
    expect(await may('producer', `select ${schema}.enqueue('q', 'k')`)).toBe(true)
    expect((await scene.owner.list({ queue: 'q', limit: 200 })).jobs.length).toBeGreaterThan(2)
  })

  test('the producer role stores flows, and neither counts nor reads them', async () => {
    const flow = {
      id: randomUUID(),
      name: 'roles',
      nodes: [
        {
          name: 'a',
          needs: 0,
          chances: 0,
          onEnded: [1],
          groups: [
            {
              queue: 'q',
              kind: 'k',
              priority: 0,
              maxAttempts: 1,
              version: 1,
              ids: [randomUUID()],
              places: [0],
              inputs: [1],
            },
          ],
        },
        {
          name: 'b',
          needs: 1,
          chances: 1,
          groups: [
            {
              queue: 'q',
              kind: 'k',
              priority: 0,
              maxAttempts: 1,
              version: 1,
              ids: [randomUUID()],
              places: [0],
              inputs: [2],
            },
          ],
        },
      ],
    }
    const store = `select outcome from ${schema}.enqueue_flows($1)`
    const { rows } = await login('producer').pool.query(store, [JSON.stringify([flow])])
    expect(rows).toEqual([{ outcome: 'stored' }])
    await expect(login('viewer').pool.query(store, ['[]'])).rejects.toMatchObject({ code: '42501' })
    const count = `select * from ${schema}.count_endings(array['${flow.id}'::uuid])`
    for (const role of ['producer', 'viewer', 'operator'] as const)
      expect(await may(role, count), role).toBe(false)
    await scene.db.query(
      `insert into ${schema}.flow_ending (flow_id, node, succeeded) values ('${flow.id}', 0, 1)`,
    )
    expect(await may('worker', count)).toBe(true)
    const states = await scene.db.query(
      `select state::text from ${schema}.job where flow_id = '${flow.id}' order by node`,
    )
    expect(states).toEqual([{ state: 'ready' }, { state: 'ready' }])
    // A viewer sees how far a flow is, but no result of it. A producer cannot claim a place in the flow of another one.
    expect(await may('viewer', `select remaining from ${schema}.flow_node`)).toBe(true)
    expect(await may('viewer', `select result from ${schema}.flow_output`)).toBe(false)
    expect(
      await may(
        'producer',
        `insert into ${schema}.job (id, queue, kind, flow_id, node) values (gen_random_uuid(), 'q', 'k', '${flow.id}', 0)`,
      ),
    ).toBe(false)
    await scene.db.query(`delete from ${schema}.job where flow_id = '${flow.id}'`)
  })

  test('the producer role grows and closes an open flow, and only workers and operators run one again', async () => {
    const act = defineJob({ kind: 'k', queue: 'q' })
    const batch = await login('producer').stint.flows.open(
      flow('open')
        .jobs('rows', act, [1])
        .job('done', act, 1, { after: ['rows'] }),
    )
    await batch.add('rows', [2, 3])
    const rerun = (role: 'producer' | 'operator' | 'worker'): Promise<unknown> =>
      login(role).stint.flows.rerun(batch.id, { from: 'rows' })
    await expect(rerun('producer')).rejects.toMatchObject({ code: 'database-rejected' })
    expect(await rerun('operator')).toMatchObject({ id: expect.any(String) as string })
    expect(await rerun('worker')).toMatchObject({ id: expect.any(String) as string })
    await batch.close()
    expect(await login('viewer').stint.flows.get(batch.id)).toMatchObject({
      nodes: [{ total: 3 }, { total: 1 }],
    })
    const other = await login('producer').stint.flows.open(flow('open').jobs('rows', act, [1]))
    expect(await login('operator').stint.flows.cancel(other.id)).toMatchObject({ state: 'cancelled' })
    await scene.db.query(`delete from ${schema}.job where flow_id is not null`)
  })

  test('the producer role takes, corrects and penalises tokens of a rate', async () => {
    await scene.db.query(
      `insert into ${schema}.rate (name, tokens, period_ms, burst) values ('openai', 1, 3600000, 10)`,
    )
    const limit = login('producer').stint.limit('openai')
    await limit.take(4)
    expect(await limit.tryTake(6)).toEqual({ granted: true, retryAfterMs: 0 })
    await limit.correct({ taken: 6, used: 1 })
    await limit.penalise('1s')
    expect((await limit.tryTake(1)).granted).toBe(false)
    expect(await may('viewer', `select * from ${schema}.take_tokens('openai', '', 1, 1, 0, false, 0)`)).toBe(
      false,
    )
  })

  test('the producer, worker and operator roles send signals, and the viewer role does not', async () => {
    const { id } = await scene.owner.enqueue(job, { n: 1 })
    for (const role of ['producer', 'worker', 'operator'] as const)
      expect(await login(role).stint.signal(id, 'approved', { role }), role).toMatchObject({
        duplicate: false,
      })
    await expect(login('viewer').stint.signal(id, 'approved')).rejects.toMatchObject({
      code: 'database-rejected',
    })
    const stored = await scene.db.query(
      `select payload ->> 'role' as role from ${schema}.signal where job_id = $1 order by id`,
      [id],
    )
    expect(stored).toEqual([{ role: 'producer' }, { role: 'worker' }, { role: 'operator' }])
  })

  test('the producer role reads nothing: no table, no view, no column', async () => {
    for (const table of await tables()) {
      expect(await may('producer', `select 1 from ${schema}.${table} limit 1`), table).toBe(false)
      expect(await may('producer', `delete from ${schema}.${table}`), table).toBe(false)
    }
    expect(
      await may(
        'producer',
        `insert into ${schema}.job (id, queue, kind) values (gen_random_uuid(), 'q', 'k') returning id`,
      ),
    ).toBe(false)
  })

  test('the producer role cannot make a job look as if it ran', async () => {
    for (const column of [
      'epoch',
      'attempt',
      'crashes',
      'lease_id',
      'worker_id',
      'started_at',
      'unique_key',
      'created_at',
    ]) {
      expect(
        await may(
          'producer',
          `insert into ${schema}.job (id, queue, kind, ${column}) values (gen_random_uuid(), 'q', 'k', default)`,
        ),
        column,
      ).toBe(false)
    }
  })
})

describe('the viewer', () => {
  test('the viewer role sees jobs but not their inputs', async () => {
    expect(
      await may('viewer', `select id, state, queue, kind, key, attempt from ${schema}.jobs limit 1`),
    ).toBe(true)
    expect((await login('viewer').stint.list({ queue: 'q', limit: 5 })).jobs).toHaveLength(5)
    for (const filter of [
      ...[{}, { state: 'running' }, { state: 'dead', kind: 'none' }, { queue: 'none' }],
      ...[{ kind: 'none' }, { key: 'none' }, { correlationId: 'none' }],
    ] as const)
      expect(await login('viewer').stint.list(filter)).toHaveProperty('jobs')
    expect((await login('viewer').stint.status()).queues).toMatchObject([{ queue: 'q' }])
    for (const column of ['input', 'result', 'error', 'options', 'input_blob']) {
      expect(await may('viewer', `select ${column} from ${schema}.jobs limit 1`), column).toBe(false)
    }
    for (const table of ['job', 'finished', 'dead', 'idempotency_key', 'blob']) {
      expect(await may('viewer', `select 1 from ${schema}.${table} limit 1`), table).toBe(false)
    }
  })

  test('the viewer role changes nothing', async () => {
    for (const table of await tables()) {
      for (const change of [
        `delete from ${schema}.${table}`,
        `insert into ${schema}.${table} default values`,
      ]) {
        expect(await may('viewer', change), change).toBe(false)
      }
    }
    expect(await may('viewer', `select ${schema}.enqueue('q', 'k')`)).toBe(false)
  })
})

test('workers write the statistics, viewers read them, and operators decide about error groups', async () => {
  const note = `select ${schema}.note_enqueued(gen_random_uuid(), 1, '[]')`
  expect(await may('producer', note)).toBe(true)
  expect(await may('viewer', note)).toBe(false)
  const worker = new Database({
    url: login('worker').url,
    schema,
    poolSize: 1,
    deadlineMs: 5_000,
    applicationName: 'test',
  })
  const stats = new StatWriter({ process: randomUUID() })
  stats.tally.at('q', 'k', performance.now()).started++
  await stats.write(worker)
  // The statistics that settling appends, for a worker and for an operator who cancels.
  for (const role of ['worker', 'operator'] as const)
    expect(
      await may(role, `insert into ${schema}.stat_settle (minute, queue, kind) values (now(), 'q', 'k')`),
    ).toBe(true)
  await scene.db.query(`insert into ${schema}.stat_settle (minute, queue, kind, succeeded)
    values (date_trunc('minute', now()), 'q', 'k', 1)`)
  await countSettled(worker, { isWhole: false })
  const errors = new ErrorWriter({ process: randomUUID(), version: 'v1', clock: stats.clock })
  const error = { fingerprint: 'f00d', kind: 'k', class: 'error', name: 'Error', message: 'no 7' }
  errors.tally.add(error, { job: randomUUID(), isDeath: true })
  await errors.write(worker)
  await worker.close()
  await scene.db.query(`insert into ${schema}.stat_minute (minute, queue, kind, process, flush, succeeded)
    select date_trunc('minute', now()) - interval '1 hour', 'q', 'old', gen_random_uuid(), 1, 1 from generate_series(1, 2)`)
  const hand = upkeepByHand(login('worker').url, { schema })
  for (const service of ['gauges', 'roll-up', 'old-numbers']) await hand.pass(service)
  await hand.pass('roll-up')
  await hand.close()
  expect(hand.passedBy).toEqual([])
  for (const role of ['viewer', 'operator'] as const) {
    const { stint } = login(role)
    expect((await stint.stats({ queue: 'q', kind: 'k' })).series).toMatchObject([{ succeeded: 1 }])
    expect(await stint.errors.list()).toMatchObject([{ fingerprint: 'f00d', title: 'no <n>' }])
  }
  await expect(login('viewer').stint.errors.get('f00d')).rejects.toMatchObject({ code: 'database-rejected' })
  await expect(login('viewer').stint.errors.resolve('f00d')).rejects.toMatchObject({
    code: 'database-rejected',
  })
  expect(await login('operator').stint.errors.resolve('f00d')).toMatchObject({
    status: 'resolved',
    message: 'no 7',
  })
  expect(await may('operator', `delete from ${schema}.error_group`)).toBe(false)
})

test('operators and workers wait for results and follow jobs; producers and viewers read nothing of them', async () => {
  const { id } = await scene.owner.enqueue(job, { n: 1 })
  for (const role of ['operator', 'worker'] as const) {
    const { stint } = login(role)
    await expect(stint.result(id, { timeout: 50 }), role).rejects.toMatchObject({ code: 'result-timeout' })
    for await (const news of stint.follow({ job: id })) {
      expect(news, role).toMatchObject({ type: 'state', state: 'ready' })
      break
    }
  }
  for (const role of ['producer', 'viewer'] as const)
    await expect(login(role).stint.result(id), role).rejects.toMatchObject({ code: 'database-rejected' })
})

test('days of history are made at most 60 ahead, by any role', async () => {
  for (const days of ['61', '100000', '-2', 'null'])
    await expect(
      login('operator').pool.query(`select ${schema}.ensure_partitions(${days})`),
      days,
    ).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('0 to 60') as string })
  expect(await may('operator', `select ${schema}.ensure_partitions(15)`)).toBe(true)
})

test('the worker role claims and settles, and changes no schema', async () => {
  const { id } = await scene.owner.enqueue(job, { n: 1 })
  expect(
    await may(
      'worker',
      `update ${schema}.job set state = 'running', worker_id = gen_random_uuid(), lease_id = gen_random_uuid() where id = '${id}'`,
    ),
  ).toBe(true)
  expect(await may('worker', `delete from ${schema}.job where id = '${id}'`)).toBe(true)
  expect(await may('worker', `select ${schema}.ensure_partitions()`)).toBe(true)
  expect(await may('worker', `create table ${schema}.mine (id integer)`)).toBe(false)
  expect(await may('worker', `delete from ${schema}.finished`)).toBe(false)
  expect(await may('worker', `update ${schema}.migration set version = 9`)).toBe(false)
  expect(await may('worker', `update ${schema}.queue set keep_finished = '0'`)).toBe(false)
})

test('everything belongs to the owner role, and PUBLIC has no rights', async () => {
  const foreign = await scene.db.query(
    `select relname from pg_class where relnamespace = '${schema}'::regnamespace and relowner <> '${schema}_owner'::regrole and relkind in ('r', 'p', 'v')
     union all
     select proname from pg_proc where pronamespace = '${schema}'::regnamespace and proowner <> '${schema}_owner'::regrole`,
  )
  expect(foreign).toEqual([])
  const open = await scene.db.query(
    `select proname from pg_proc where pronamespace = '${schema}'::regnamespace and has_function_privilege('public', oid, 'execute')`,
  )
  expect(open).toEqual([])
})

test('objects of a later migration are handed to the owner, also when that failed the first time', async () => {
  await scene.db.query(`create table ${schema}.stray (id integer)`)
  await scene.db.query(`create function ${schema}.stray() returns integer language sql as 'select 1'`)
  await scene.owner.migrate()
  expect(await may('producer', `select 1 from ${schema}.stray`)).toBe(false)
  expect(await may('producer', `select ${schema}.stray()`)).toBe(false)
  const rows = await scene.db.query(
    `select 1 from pg_class where oid = '${schema}.stray'::regclass and relowner = '${schema}_owner'::regrole`,
  )
  expect(rows).toHaveLength(1)
})

test('a member of the owner role migrates without the right to make roles', async () => {
  await scene.db.query('drop role if exists login_deploy')
  await scene.db.query(`create role login_deploy login password 'secret' in role ${schema}_owner`)
  const url = new URL(scene.db.url)
  url.username = 'login_deploy'
  url.password = 'secret'
  const pool = new pg.Pool({ connectionString: url.href })
  await pool.query(`create table ${schema}.made_by_deploy (id integer)`)
  await pool.end()
  const deploy = new Stint({ connection: url.href, schema })
  await deploy.migrate()
  await deploy.close()
  const owned = await scene.db.query(
    `select 1 from pg_class where oid = '${schema}.made_by_deploy'::regclass and relowner = '${schema}_owner'::regrole`,
  )
  expect(owned).toHaveLength(1)
  await scene.db.query('drop role login_deploy')
})

test('roles of the same name that another database made are left alone', async () => {
  const other = await createEmptyDatabase()
  await other.query(`drop role if exists login_migrator`)
  await other.query(`create role login_migrator login password 'secret'`)
  const url = new URL(other.url)
  await other.query(`grant create on database ${url.pathname.slice(1)} to login_migrator`)
  url.username = 'login_migrator'
  url.password = 'secret'
  const plain = new Stint({ connection: url.href, schema })
  expect(await plain.migrate()).toMatchObject({
    applied: expect.arrayContaining([expect.any(String)]) as string[],
  })
  await plain.close()
  await other.query('drop owned by login_migrator cascade')
  await other.query('drop role login_migrator')
  await other.drop()
})

test('the roles step can run again, and a client without rights to the tables gets an error that says so', async () => {
  await scene.owner.migrate({ roles: true })
  for (const call of [() => login('producer').stint.list(), () => login('producer').stint.status()])
    await expect(call()).rejects.toMatchObject({ code: 'database-rejected' })
})

test('operators and workers store schedules, viewers see them, and producers do neither', async () => {
  const { stint } = login('operator')
  await stint.schedules.set({ name: 'nightly', job, every: '1h', input: { secret: 1 } })
  await stint.schedules.pause('nightly', { for: '1h' })
  await stint.schedules.resume('nightly')
  await stint.schedules.runNow('nightly')
  expect(await login('viewer').stint.schedules.list()).toMatchObject([{ name: 'nightly', isPaused: false }])
  expect(await login('viewer').stint.schedules.fires('nightly')).toHaveLength(1)
  expect(await may('viewer', `select input from ${schema}.schedule`)).toBe(false)
  await login('worker').stint.schedules.runNow('nightly')
  for (const role of ['producer', 'viewer'] as const)
    await expect(login(role).stint.schedules.runNow('nightly'), role).rejects.toMatchObject({
      code: 'database-rejected',
    })
  await stint.schedules.delete('nightly')
})
