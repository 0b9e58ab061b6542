import { expect, onTestFinished, test } from 'vitest'
import { movableClock } from '../support/clock.ts'
import { connectTo, createEmptyDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { upkeepByHand } from '../support/history.ts'
import { clientOf, lookAt, newDatabase } from './scene.ts'

test('the doctor finds the session that has held a snapshot for long, and says how to end it', async () => {
  const db = await newDatabase()
  const holder = await connectTo(db.url)
  // The test ends this session.
  holder.on('error', () => undefined)
  await holder.query(`set application_name = 'nightly report'`)
  await holder.query('begin isolation level repeatable read')
  await holder.query('select count(*) from stint.job')
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid ?? 0
  expect(await lookAt(db.url, 'snapshots')).toMatchObject({ level: 'ok' })
  const found = await lookAt(db.url, 'snapshots', { limits: { snapshotWarnMs: 0 } })
  expect(found).toMatchObject({
    level: 'warn',
    title: expect.stringContaining(`process ${pid} (nightly report)`) as string,
    detail: expect.stringMatching(
      /idle in transaction, \d+ transactions back, last query: select pg_backend_pid/,
    ) as string,
    fix: `select pg_terminate_backend(${pid});`,
  })
  await db.query(found.fix ?? '')
  await eventually(async () => {
    expect(await lookAt(db.url, 'snapshots', { limits: { snapshotWarnMs: 0 } })).toMatchObject({
      level: 'ok',
    })
  })
  const fails = { snapshotWarnMs: 0, snapshotFailMs: 0 }
  const second = await connectTo(db.url)
  await second.query('begin isolation level repeatable read; select 1 from stint.queue')
  expect(await lookAt(db.url, 'snapshots', { limits: fails })).toMatchObject({ level: 'fail' })
})

test('the doctor finds dead rows that vacuum does not remove', async () => {
  const db = await newDatabase()
  const session = await connectTo(db.url)
  // A session reports its statistics from time to time, or at once when it is asked to.
  const tell = async (statement: string): Promise<void> => {
    await session.query(statement)
    await session.query('select pg_stat_force_next_flush()')
  }
  await tell(
    `insert into stint.job (id, queue, kind) select gen_random_uuid(), 'q', 'k' from generate_series(1, 20000)`,
  )
  await tell('delete from stint.job')
  await eventually(async () => {
    expect(await lookAt(db.url, 'dead-rows')).toMatchObject({
      level: 'warn',
      title: 'Dead rows pile up in job',
      detail: expect.stringMatching(
        /job has 2\d,\d{3} dead rows beside 0 live ones \(autovacuum starts at 1,000;/,
      ) as string,
      fix: 'vacuum "stint"."job";',
    })
  })
  await tell('vacuum stint.job')
  await eventually(async () => {
    expect(await lookAt(db.url, 'dead-rows')).toMatchObject({ level: 'ok' })
  })
})

test('the doctor finds a client clock that differs from the database clock', async () => {
  const db = await newDatabase()
  const clock = await movableClock(db)
  expect(await lookAt(db.url, 'clock')).toMatchObject({ level: 'ok' })
  await clock.advance('30 seconds')
  expect(await lookAt(db.url, 'clock')).toMatchObject({
    level: 'warn',
    title: expect.stringMatching(/clock is (29|3\d)\S* behind the database's/) as string,
  })
  await clock.advance('-10 minutes')
  expect(await lookAt(db.url, 'clock')).toMatchObject({
    level: 'fail',
    title: expect.stringContaining('ahead of') as string,
  })
})

test.each(['stint', 'select'])(
  'the doctor finds what is missing or changed in a schema named %s',
  async (schema) => {
    const db = await createEmptyDatabase()
    onTestFinished(() => db.drop())
    const stint = clientOf(db, schema)
    const at = (): ReturnType<typeof lookAt> => lookAt(db.url, 'schema', { schema })
    expect(await at()).toMatchObject({ level: 'fail', fix: `stint migrate --schema ${schema}` })
    await stint.migrate()
    expect(await at()).toMatchObject({ level: 'ok' })
    // With the schema on the search_path, PostgreSQL prints names without it.
    await db.query(
      `do $$ begin execute format('alter database %I set search_path = "${schema}"', current_database()); end $$`,
    )
    expect(await at()).toMatchObject({ level: 'ok' })

    await db.query(`drop index "${schema}".job_ready; drop index "${schema}".finished_id`)
    const missing = await at()
    expect(missing).toMatchObject({
      level: 'fail',
      title: 'The schema differs from the migrations: 2 missing',
      detail: expect.stringContaining('Missing: index finished_id, index job_ready.') as string,
    })
    for (const statement of (missing.fix ?? '').split('\n')) await db.query(statement)
    expect(await at()).toMatchObject({ level: 'ok' })

    await db.query(`alter table "${schema}".job drop column begun_lease, drop constraint job_in_bounds`)
    expect(await at()).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining(
        'Missing: column job.begun_lease, constraint job.job_in_bounds.',
      ) as string,
    })
    await db.query(`drop table "${schema}".effect`)
    expect((await at()).title).toBe('The schema differs from the migrations: 12 missing')
  },
)

test('the doctor finds a changed function and a schema of another version', async () => {
  const db = await newDatabase()
  await db.query(
    `create or replace function stint.kept_by_default() returns interval language sql immutable parallel safe as 'select interval ''1 day'''`,
  )
  await db.query('alter table stint.job alter column state set statistics 100')
  expect(await lookAt(db.url, 'schema')).toMatchObject({
    level: 'warn',
    title: 'The schema differs from the migrations: 2 different',
    detail: expect.stringMatching(
      /column job\.state .*statistics 100.*statistics 0.*function kept_by_default\(\)/,
    ) as string,
  })
  await db.query(`insert into stint.migration (version, name) values (999, 'later')`)
  expect(await lookAt(db.url, 'schema')).toMatchObject({
    level: 'fail',
    title: expect.stringContaining('999') as string,
  })
  await db.query('delete from stint.migration where version > 3')
  expect(await lookAt(db.url, 'schema')).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('0004_history.sql') as string,
    fix: 'stint migrate --schema stint',
  })
  await db.query(`update stint.migration set name = 'schema/migrations/0001_jobs.sql' where version = 1`)
  expect(await lookAt(db.url, 'schema')).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('0001_jobs.sql') as string,
    fix: expect.stringContaining('drop schema "stint"') as string,
  })
})

test('the doctor finds invalid indexes', async () => {
  const db = await newDatabase()
  await db.query('create index job_due_ccnew on stint.job (queue)')
  await db.query(
    `update pg_index set indisvalid = false where indexrelid in ('stint.job_due_ccnew'::regclass, 'stint.job_waiting'::regclass)`,
  )
  const found = await lookAt(db.url, 'invalid-indexes')
  expect(found).toMatchObject({
    level: 'warn',
    title: '2 indexes are invalid',
    fix: 'drop index concurrently "stint"."job_due_ccnew";\nreindex index concurrently "stint"."job_waiting";',
  })
  for (const statement of (found.fix ?? '').split('\n')) await db.query(statement)
  expect(await lookAt(db.url, 'invalid-indexes')).toMatchObject({ level: 'ok' })
})

test('the doctor finds indexes that are mostly empty', async () => {
  const db = await newDatabase()
  const limits = { indexBytes: 512 * 1_024 }
  await db.query(
    `insert into stint.job (id, queue, kind) select gen_random_uuid(), 'q', 'k' from generate_series(1, 30000)`,
  )
  expect(await lookAt(db.url, 'index-bloat', { limits })).toMatchObject({ level: 'ok' })
  await db.query('delete from stint.job')
  await db.query('vacuum analyze stint.job')
  expect(await lookAt(db.url, 'index-bloat')).toMatchObject({ level: 'ok' })
  const found = await lookAt(db.url, 'index-bloat', { limits })
  expect(found).toMatchObject({
    level: 'warn',
    title: '2 indexes are mostly empty',
    detail: expect.stringMatching(/job_ready takes \S+ MB and needs about 16 kB/) as string,
  })
  for (const statement of (found.fix ?? '').split('\n')) await db.query(statement)
  expect(await lookAt(db.url, 'index-bloat', { limits })).toMatchObject({ level: 'ok' })
})

test('the doctor finds missing partitions of the next days', async () => {
  const db = await newDatabase()
  const clock = await movableClock(db)
  // As of today: the template database may be from before midnight.
  const upkeep = upkeepByHand(db.url)
  await upkeep.pass('partitions')
  await upkeep.close()
  expect(await lookAt(db.url, 'partitions')).toMatchObject({ level: 'ok' })
  await clock.advance('10 days')
  expect(await lookAt(db.url, 'partitions')).toMatchObject({
    level: 'warn',
    title: '9 partitions of the job history missing',
  })
  await clock.advance('20 days')
  const found = await lookAt(db.url, 'partitions')
  expect(found).toMatchObject({ level: 'fail' })
  await db.query(found.fix ?? '')
  expect(await lookAt(db.url, 'partitions')).toMatchObject({ level: 'ok' })
})

test('the doctor finds a server that is too old or read-only', async () => {
  const db = await newDatabase()
  expect(await lookAt(db.url, 'server')).toMatchObject({
    level: 'ok',
    title: expect.stringMatching(/^PostgreSQL \d/) as string,
  })
  expect(await lookAt(db.url, 'server', { limits: { minServer: 990_000 } })).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('PostgreSQL 99 or later') as string,
  })
  await db.query(
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  )
  expect(await lookAt(db.url, 'server')).toMatchObject({
    level: 'fail',
    title: expect.stringContaining('is read-only') as string,
  })
})
