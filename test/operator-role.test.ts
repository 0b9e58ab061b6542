import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { startOperationsWorker } from '../src/worker/operations-worker.ts'
import { defineJob } from '../src/index.ts'
import { job, roles, rolesScene } from './roles-scene.ts'
import { upkeepByHand } from './support/history.ts'

const schema = 'operator_role_test'
const scene = rolesScene(schema)
const { login, may } = scene

test('the operator role can do all actions of an operator, through the library', async () => {
  const { stint } = login('operator')
  const { id } = await stint.enqueue(job, { n: 1 })
  await stint.reprioritize(id, 3)
  await stint.reschedule(id, { delay: '1h' })
  await stint.update(job, id, { n: 2 })
  expect(await stint.get(id)).toMatchObject({ state: 'scheduled', priority: 3, input: { n: 2 } })
  expect((await stint.list({ queue: 'q', limit: 1 })).jobs).toHaveLength(1)
  expect(await stint.why(id)).toMatchObject({ first: 'due' })
  expect(await stint.whyTwice(id)).toEqual({ attempts: [] })
  // What the console reads for an approval link.
  const link = { jobId: id, signal: 'approved', id: 'none', expiresAt: 0 }
  expect(await stint.consoleStore.approval(link)).toMatchObject({ kind: job.kind, isExpired: true })
  expect(await stint.cancel(id)).toMatchObject({ state: 'cancelled' })
  expect(await may('operator', `update ${schema}.job set epoch = 0`)).toBe(false)
  expect(await may('operator', `delete from ${schema}.finished`)).toBe(false)
  expect(await may('operator', `select 1 from ${schema}.idempotency_key`)).toBe(false)
})

test('the operator and the worker role may ask why a job of a limited queue does not run', async () => {
  const { id } = await scene.owner.enqueue(job, { n: 1 }, { queue: 'limited', key: 'acme' })
  await scene.db.query(`
    insert into ${schema}.concurrency_limit (name, by_key, max) values ('tenants', true, 0);
    insert into ${schema}.rate (name, tokens, period_ms, burst) values ('api', 1, 1000, 1);
    insert into ${schema}.limit_cover (queue, type, name) values ('limited', 'concurrency', 'tenants'), ('limited', 'rate', 'api');
    insert into ${schema}.queue (name, is_limited) values ('limited', true)`)
  for (const role of ['operator', 'worker'] as const) {
    const { predicates } = await login(role).stint.why(id)
    expect(
      predicates.find(({ name }) => name === 'limit'),
      role,
    ).toMatchObject({
      holds: false,
      says: 'key acme 0/0 of tenants: the limit lets no job start',
    })
  }
  await expect(login('producer').stint.why(id)).rejects.toMatchObject({ code: 'database-rejected' })
  await scene.db.query(`delete from ${schema}.queue where name = 'limited'`)
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
  const { id } = await scene.owner.enqueue(job, { n: 1 })
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
  await scene.owner.cancel(id)
})

test('the operator role repairs dead letters, through the library', async () => {
  const { stint } = login('operator')
  const dead = async (): Promise<string> => {
    const { id } = await scene.owner.enqueue(job, { n: 1 }, { unique: { key: 'dead' } })
    await scene.db.query(
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
  const { id } = await scene.owner.enqueue(job, { n: 1 }, { delay: '1h' })
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
  const { name, pool, stint } = login('operator')
  const forged = `(id, at, actor, origin, action, target) values (gen_random_uuid(), '2001-01-01', 'ana', 'cli', 'job.replay', 'x')`
  for (const role of roles) expect(await may(role, `insert into ${schema}.audit ${forged}`), role).toBe(false)
  const id = randomUUID()
  const note = `select ${schema}.note_audit('${id}', 'ana', null, 'code', 'job.cancel', 'noted', 'done', null, null, null, null, null)`
  for (const role of ['producer', 'worker', 'viewer'] as const)
    expect(await may(role, note), role).toBe(false)
  await pool.query(`set role ${schema}_operator; ${note}; reset role`)
  const [entry] = (await stint.audit.list({ target: 'noted' })).entries
  expect(entry).toMatchObject({ id, actor: 'ana', login: name })
  expect(Math.abs(Number(entry?.at) - Date.now())).toBeLessThan(60_000)
})

test('audit entries are removed after the time that the owner set, and no role can change that time', async () => {
  await scene.db.query(
    `insert into ${schema}.audit (id, at, actor, origin, action, target)
     select gen_random_uuid(), now() - days * interval '1 day', 'ana', 'cli', 'job.replay', 'aged ' || days
       from unnest(array[1, 100, 399, 401, 4000]) as days`,
  )
  const aged = async (): Promise<number> => {
    const hand = upkeepByHand(login('worker').url, { schema })
    await hand.pass('expired')
    await hand.close()
    return (await scene.db.query(`select 1 from ${schema}.audit where target like 'aged %'`)).length
  }
  expect(await aged()).toBe(3)
  for (const role of roles)
    expect(await may(role, `update ${schema}.retention set audit = '1 day'`), role).toBe(false)
  for (const role of ['producer', 'viewer', 'operator'] as const)
    expect(await may(role, `select ${schema}.prune_audit(0, 1000)`), role).toBe(false)
  await scene.db.query(`update ${schema}.retention set audit = '30 days'`)
  expect(await aged()).toBe(1)
  await scene.db.query(`update ${schema}.retention set audit = default`)
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
  await scene.db.query(`drop role if exists login_both`)
  await scene.db.query(
    `create role login_both login password 'secret' in role ${schema}_worker, ${schema}_operator`,
  )
  url.username = 'login_both'
  const { id } = await scene.owner.enqueue(job, { n: 1 }, { delay: '1h' })
  const dead = await scene.owner.enqueue(job, { n: 2 })
  await scene.db.query(
    `with gone as (delete from ${schema}.job where id = $1 returning *)
     insert into ${schema}.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, input, reason)
     select id, created_at, run_at, 3, 5, max_attempts, crashes, priority, version, queue, kind, input, 'exhausted' from gone`,
    [dead.id],
  )
  const worker = await startOperationsWorker({ connection: url.href, schema, undecidedMs: 1 })
  const ana = login('operator').stint.as({ actor: 'ana' })
  const ended = async (started: { id: string }): Promise<void> => {
    await expect.poll(async () => (await scene.owner.operations.get(started.id))?.state).toBe('done')
  }
  await ended(await ana.operations.start({ action: 'replay', ids: [dead.id], reason: 'roles' }))
  await ended(await ana.operations.start({ action: 'cancel', ids: [id, dead.id], reason: 'roles' }))
  expect(await scene.owner.get(dead.id)).toMatchObject({ state: 'cancelled' })
  await worker.stop()
  await scene.db.query(`drop owned by login_both`)
  await scene.db.query(`drop role login_both`)
})
