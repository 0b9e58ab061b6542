import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startOperationsWorker } from '../src/worker/operations-worker.ts'
import { defineJob, Stint } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import { ErrorWriter } from '../src/stats/errors/write-errors.ts'
import { countSettled } from '../src/stats/write/count-settled.ts'
import { StatWriter } from '../src/stats/write/write-stats.ts'
import { createEmptyDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { upkeepByHand } from './support/history.ts'

const job = defineJob({ kind: 'role.probe', queue: 'q' })
// Roles belong to the whole server, so these have names of this file's own.
const schema = 'roles_test'
const roles = ['producer', 'worker', 'viewer', 'operator'] as const
type Role = (typeof roles)[number]

let db: TestDatabase
let owner: Stint
const logins = new Map<Role, { url: string; pool: pg.Pool; stint: Stint }>()

beforeAll(async () => {
  db = await createEmptyDatabase()
  owner = new Stint({ connection: db.url, schema })
  await owner.migrate({ roles: true })
  for (const role of roles) {
    const name = `login_${role}`
    await db.query(`drop role if exists ${name}`)
    await db.query(`create role ${name} login password 'secret' in role ${schema}_${role}`)
    const url = new URL(db.url)
    url.username = name
    url.password = 'secret'
    logins.set(role, {
      url: url.href,
      pool: new pg.Pool({ connectionString: url.href }),
      stint: new Stint({ connection: url.href, schema }),
    })
  }
})
afterAll(async () => {
  for (const { pool, stint } of logins.values()) {
    await pool.end()
    await stint.close()
  }
  await owner.close()
  for (const role of roles) await db.query(`drop role if exists login_${role}`)
  await db.drop()
})

function login(role: Role): { url: string; pool: pg.Pool; stint: Stint } {
  const found = logins.get(role)
  if (found === undefined) throw new Error(`No login for ${role}`)
  return found
}

async function may(role: Role, statement: string): Promise<boolean> {
  try {
    await login(role).pool.query(statement)
    return true
  } catch (error) {
    // 55000 is the error of a view over several tables for every change, by any role.
    if (error instanceof pg.DatabaseError && ['42501', '55000'].includes(error.code ?? '')) return false
    throw error
  }
}

async function tables(): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
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
    expect((await owner.list({ queue: 'q', limit: 200 })).jobs.length).toBeGreaterThan(2)
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
  await db.query(`insert into ${schema}.stat_settle (minute, queue, kind, succeeded)
    values (date_trunc('minute', now()), 'q', 'k', 1)`)
  await countSettled(worker, { isWhole: false })
  const errors = new ErrorWriter({ process: randomUUID(), version: 'v1', clock: stats.clock })
  const error = { fingerprint: 'f00d', kind: 'k', class: 'error', name: 'Error', message: 'no 7' }
  errors.tally.add(error, { job: randomUUID(), isDeath: true })
  await errors.write(worker)
  await worker.close()
  await db.query(`insert into ${schema}.stat_minute (minute, queue, kind, process, flush, succeeded)
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

test('the operator role can do all actions of an operator, through the library', async () => {
  const { stint } = login('operator')
  const { id } = await stint.enqueue(job, { n: 1 })
  await stint.reprioritize(id, 3)
  await stint.reschedule(id, { delay: '1h' })
  await stint.update(job, id, { n: 2 })
  expect(await stint.get(id)).toMatchObject({ state: 'scheduled', priority: 3, input: { n: 2 } })
  expect((await stint.list({ queue: 'q', limit: 1 })).jobs).toHaveLength(1)
  expect(await stint.cancel(id)).toMatchObject({ state: 'cancelled' })
  expect(await may('operator', `update ${schema}.job set epoch = 0`)).toBe(false)
  expect(await may('operator', `delete from ${schema}.finished`)).toBe(false)
  expect(await may('operator', `select 1 from ${schema}.idempotency_key`)).toBe(false)
})

test('the operator role sets how long queues keep their jobs, and the viewer role sees it', async () => {
  await login('operator').stint.queues.set('q', { keep: '2d' })
  expect(await login('operator').stint.queues.set('q', { keepDead: '1d' })).toMatchObject({ queue: 'q' })
  expect(await login('viewer').stint.queues.list()).toMatchObject([{ queue: 'q', keepMs: 172_800_000 }])
  for (const role of ['viewer', 'producer', 'worker'] as const)
    await expect(login(role).stint.queues.set('q', { keep: 0 }), role).rejects.toMatchObject({
      code: 'database-rejected',
    })
})

test('the operator role sees all that the console shows, and the viewer role all but inputs, results and errors', async () => {
  const { id } = await owner.enqueue(job, { n: 1 })
  const { view } = login('operator').stint
  // No worker is live, so the reader refreshes the gauges.
  expect((await view.overview()).queues.find(({ queue }) => queue === 'q')?.ready).toBeGreaterThan(0)
  expect((await view.queue('q'))?.kinds.map(({ kind }) => kind)).toContain('role.probe')
  expect(await view.jobs([id])).toMatchObject([{ id, state: 'ready' }])
  expect(await view.operations([id])).toEqual([])
  expect((await view.leases()).more).toBe(false)
  expect((await view.series()).points.length).toBeGreaterThan(0)
  expect(await view.totals()).toBeInstanceOf(Array)
  expect((await view.system()).pending).toEqual([])
  const viewer = login('viewer').stint.view
  expect((await viewer.queues()).queues.find(({ queue }) => queue === 'q')?.ready).toBeGreaterThan(0)
  expect((await viewer.workers()).workers).toBeInstanceOf(Array)
  expect((await viewer.series()).points.length).toBeGreaterThan(0)
  await expect(viewer.leases()).rejects.toMatchObject({ code: 'database-rejected' })
  await owner.cancel(id)
})

test('the operator role repairs dead letters, through the library', async () => {
  const { stint } = login('operator')
  const dead = async (): Promise<string> => {
    const { id } = await owner.enqueue(job, { n: 1 }, { unique: { key: 'dead' } })
    await db.query(
      `with gone as (delete from ${schema}.job where id = $1 returning *)
       insert into ${schema}.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version,
                                   queue, kind, input, reason)
       select id, created_at, run_at, 3, 5, max_attempts, crashes, priority, version, queue, kind, input, 'exhausted'
         from gone`,
      [id],
    )
    return id
  }
  const id = await dead()
  expect((await stint.dead.list({ queue: 'q' })).dead).toMatchObject([{ id }])
  expect(await stint.dead.get(id)).toMatchObject({ input: { n: 1 }, attempts: [] })
  expect(await stint.logs(id)).toEqual([])
  await stint.dead.discard(id)
  await stint.dead.restore(id)
  expect(await stint.dead.replay(id)).toMatchObject({ id, state: 'ready', epoch: 3 })
  const old = await dead()
  for (const unique of [false, {}] as const) {
    const contract = defineJob({ kind: 'role.probe', queue: 'q', ...(unique === false ? {} : { unique }) })
    const from = unique === false ? old : await dead()
    expect(await stint.dead.replay(from, { contract, input: { n: 9 } })).toMatchObject({ replaces: from })
  }
  for (const role of ['producer', 'viewer'] as const) {
    for (const call of [
      () => login(role).stint.dead.list(),
      () => login(role).stint.dead.replay(old),
      () => login(role).stint.dead.discard(old),
      () => login(role).stint.attempts(old),
      () => login(role).stint.logs(old),
    ])
      await expect(call(), role).rejects.toMatchObject({ code: 'database-rejected' })
  }
})

test('the operator role acts under a name and starts operations, and cannot change the audit', async () => {
  const { stint } = login('operator')
  const ana = stint.as({ actor: 'ana' })
  const { id } = await owner.enqueue(job, { n: 1 }, { delay: '1h' })
  await ana.reprioritize(id, { priority: 2, expect: { state: 'scheduled' } })
  await expect(ana.replay(id)).rejects.toMatchObject({ code: 'state-changed' })
  expect((await stint.audit.list({ target: id })).entries).toHaveLength(2)
  expect((await stint.search({ where: 'queue:q state:scheduled' })).jobs.length).toBeGreaterThan(0)
  const operation = await ana.operations.start({ action: 'cancel', where: `id:${id}`, reason: 'roles' })
  expect(await ana.operations.abort(operation.id)).toMatchObject({ state: 'aborted' })
  expect(await login('viewer').stint.operations.get(operation.id)).toMatchObject({ actor: 'ana' })
  for (const change of ['update', 'delete'] as const)
    for (const role of roles) {
      const statement =
        change === 'update' ? `update ${schema}.audit set actor = ''` : `delete from ${schema}.audit`
      expect(await may(role, statement), `${role} ${change}`).toBe(false)
    }
  for (const role of ['producer', 'worker', 'viewer'] as const)
    await expect(login(role).stint.as({ actor: 'bo' }).cancel(id), role).rejects.toMatchObject({
      code: 'database-rejected',
    })
})

test('an audit entry is written only by a function, which sets its time and the login', async () => {
  const { pool, stint } = login('operator')
  const forged = `(id, at, actor, origin, action, target) values (gen_random_uuid(), '2001-01-01', 'ana', 'cli', 'job.replay', 'x')`
  for (const role of roles) expect(await may(role, `insert into ${schema}.audit ${forged}`), role).toBe(false)
  const id = randomUUID()
  const note = `select ${schema}.note_audit('${id}', 'ana', null, 'code', 'job.cancel', 'noted', 'done', null, null, null, null, null)`
  for (const role of ['producer', 'worker', 'viewer'] as const)
    expect(await may(role, note), role).toBe(false)
  await pool.query(`set role ${schema}_operator; ${note}; reset role`)
  const [entry] = (await stint.audit.list({ target: 'noted' })).entries
  expect(entry).toMatchObject({ id, actor: 'ana', login: 'login_operator' })
  expect(Math.abs(Number(entry?.at) - Date.now())).toBeLessThan(60_000)
})

test('audit entries are removed after the time that the owner set, and no role can change that time', async () => {
  await db.query(
    `insert into ${schema}.audit (id, at, actor, origin, action, target)
     select gen_random_uuid(), now() - days * interval '1 day', 'ana', 'cli', 'job.replay', 'aged ' || days
       from unnest(array[1, 100, 399, 401, 4000]) as days`,
  )
  const aged = async (): Promise<number> => {
    const hand = upkeepByHand(login('worker').url, { schema })
    await hand.pass('expired')
    await hand.close()
    return (await db.query(`select 1 from ${schema}.audit where target like 'aged %'`)).length
  }
  expect(await aged()).toBe(3)
  for (const role of roles)
    expect(await may(role, `update ${schema}.retention set audit = '1 day'`), role).toBe(false)
  for (const role of ['producer', 'viewer', 'operator'] as const)
    expect(await may(role, `select ${schema}.prune_audit(0, 1000)`), role).toBe(false)
  await db.query(`update ${schema}.retention set audit = '30 days'`)
  expect(await aged()).toBe(1)
  await db.query(`update ${schema}.retention set audit = default`)
})

test('days of history are made at most 60 ahead, by any role', async () => {
  for (const days of ['61', '100000', '-2', 'null'])
    await expect(
      login('operator').pool.query(`select ${schema}.ensure_partitions(${days})`),
      days,
    ).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('0 to 60') as string })
  expect(await may('operator', `select ${schema}.ensure_partitions(15)`)).toBe(true)
})

test('the operator role can store no schedule and no queue settings that stop upkeep', async () => {
  const { pool } = login('operator')
  const refused = async (statement: string): Promise<void> => {
    await expect(pool.query(statement), statement.slice(0, 120)).rejects.toMatchObject({ code: '23514' })
  }
  for (const keep of ['infinity', '200000 years', '-1 day']) {
    await refused(`insert into ${schema}.queue (name, keep_finished) values ('bad', '${keep}')`)
    await refused(`insert into ${schema}.queue (name, keep_dead) values ('bad', '${keep}')`)
  }
  for (const name of ['', 'a b', 'n'.repeat(129)])
    await refused(`insert into ${schema}.queue (name) values ('${name}')`)
  const schedule = {
    name: 's',
    kind: 'k',
    queue: 'q',
    spec: '{}',
    job: '{}',
    source: 'runtime',
    digest: 'd',
  }
  for (const bad of [
    ...[{ name: '' }, { name: 'n'.repeat(129) }, { kind: 'a b' }, { queue: '\u001b' }, { missed_limit: -1 }],
    ...[{ missed_limit: 1_001 }, { missed_window_ms: -1 }, { missed_window_ms: '9223372036854775807' }],
    ...[{ jitter_ms: -1 }, { jitter_ms: '9223372036854775807' }, { keep_fires_ms: '9223372036854775807' }],
    ...[{ keep_fires_ms: -1 }, { time_zone: '' }, { time_zone: 'z'.repeat(65) }],
    ...[{ spec: JSON.stringify('x'.repeat(70_000)) }, { job: JSON.stringify('x'.repeat(70_000)) }],
  ]) {
    const row = { ...schedule, ...bad }
    const values = Object.values(row).map((value) => `'${value}'`)
    await refused(`insert into ${schema}.schedule (${Object.keys(row).join()}) values (${values.join()})`)
  }
})

test('a login with the rights of a worker and an operator executes operations', async () => {
  const url = new URL(login('operator').url)
  await db.query(`drop role if exists login_both`)
  await db.query(
    `create role login_both login password 'secret' in role ${schema}_worker, ${schema}_operator`,
  )
  url.username = 'login_both'
  const { id } = await owner.enqueue(job, { n: 1 }, { delay: '1h' })
  const dead = await owner.enqueue(job, { n: 2 })
  await db.query(
    `with gone as (delete from ${schema}.job where id = $1 returning *)
     insert into ${schema}.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, input, reason)
     select id, created_at, run_at, 3, 5, max_attempts, crashes, priority, version, queue, kind, input, 'exhausted' from gone`,
    [dead.id],
  )
  const worker = await startOperationsWorker({ connection: url.href, schema, undecidedMs: 1 })
  const ana = login('operator').stint.as({ actor: 'ana' })
  const ended = async (started: { id: string }): Promise<void> => {
    await expect.poll(async () => (await owner.operations.get(started.id))?.state).toBe('done')
  }
  await ended(await ana.operations.start({ action: 'replay', ids: [dead.id], reason: 'roles' }))
  await ended(await ana.operations.start({ action: 'cancel', ids: [id, dead.id], reason: 'roles' }))
  expect(await owner.get(dead.id)).toMatchObject({ state: 'cancelled' })
  await worker.stop()
  await db.query(`drop owned by login_both`)
  await db.query(`drop role login_both`)
})

test('the worker role claims and settles, and changes no schema', async () => {
  const { id } = await owner.enqueue(job, { n: 1 })
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
  const foreign = await db.query(
    `select relname from pg_class where relnamespace = '${schema}'::regnamespace and relowner <> '${schema}_owner'::regrole and relkind in ('r', 'p', 'v')
     union all
     select proname from pg_proc where pronamespace = '${schema}'::regnamespace and proowner <> '${schema}_owner'::regrole`,
  )
  expect(foreign).toEqual([])
  const open = await db.query(
    `select proname from pg_proc where pronamespace = '${schema}'::regnamespace and has_function_privilege('public', oid, 'execute')`,
  )
  expect(open).toEqual([])
})

test('objects of a later migration are handed to the owner, also when that failed the first time', async () => {
  await db.query(`create table ${schema}.stray (id integer)`)
  await db.query(`create function ${schema}.stray() returns integer language sql as 'select 1'`)
  await owner.migrate()
  expect(await may('producer', `select 1 from ${schema}.stray`)).toBe(false)
  expect(await may('producer', `select ${schema}.stray()`)).toBe(false)
  const rows = await db.query(
    `select 1 from pg_class where oid = '${schema}.stray'::regclass and relowner = '${schema}_owner'::regrole`,
  )
  expect(rows).toHaveLength(1)
})

test('a member of the owner role migrates without the right to make roles', async () => {
  await db.query('drop role if exists login_deploy')
  await db.query(`create role login_deploy login password 'secret' in role ${schema}_owner`)
  const url = new URL(db.url)
  url.username = 'login_deploy'
  url.password = 'secret'
  const pool = new pg.Pool({ connectionString: url.href })
  await pool.query(`create table ${schema}.made_by_deploy (id integer)`)
  await pool.end()
  const deploy = new Stint({ connection: url.href, schema })
  await deploy.migrate()
  await deploy.close()
  const owned = await db.query(
    `select 1 from pg_class where oid = '${schema}.made_by_deploy'::regclass and relowner = '${schema}_owner'::regrole`,
  )
  expect(owned).toHaveLength(1)
  await db.query('drop role login_deploy')
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
  await owner.migrate({ roles: true })
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
