import { hostname } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import { connectTo, createEmptyDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { upkeepByHand } from '../support/history.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { look, lookAt, newDatabase, plantLeader, plantWorker } from './scene.ts'

const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

function clientOf({ url }: TestDatabase, schema = 'stint'): Stint {
  const stint = new Stint({ connection: url, schema })
  onTestFinished(() => stint.close())
  return stint
}

/** Node options that set all clocks of a process ahead, including those of its threads. */
function clockAhead(ms: number): string[] {
  const program = `const Usual = Date
    globalThis.Date = class extends Usual {
      constructor(...given) {
        if (given.length > 0) super(...given)
        else super(Usual.now() + ${ms})
      }
      static now() {
        return Usual.now() + ${ms}
      }
    }`
  return ['--import', `data:text/javascript,${encodeURIComponent(program)}`]
}

describe('findings of the doctor', () => {
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

  test('the doctor finds workers whose clocks differ, by their own measurements', async () => {
    const db = await newDatabase()
    const clock = await movableClock(db)
    const ledger = await createLedger()
    const finding = (): ReturnType<typeof lookAt> => lookAt(db.url, 'worker-clocks')
    const startAhead = (name: string, ms: number): Promise<WorkerProcess> =>
      startWorker(ledger, {
        name,
        jobs: [{ kind: 'k', queue: 'q' }],
        execArgv: clockAhead(ms),
        options: { connection: db.url, queues: { q: 1 }, lease: '3s' },
      })
    const finds = (expected: Record<string, unknown>): Promise<void> =>
      eventually(async () => {
        expect(await finding()).toMatchObject(expected)
      })
    const said = (...words: string[]): string =>
      expect.stringMatching(new RegExp(words.join('.*'), 's')) as string
    expect(await finding()).toMatchObject({ level: 'ok', title: 'No worker has compared its clock yet' })

    const right = await startAhead('right', 0)
    await finds({
      level: 'ok',
      title: said('^Worker clocks differ .* by at most \\d+ms'),
      detail: said('^1 live worker measured'),
    })
    const ahead = await startAhead('ahead', 30_000)
    await finds({
      level: 'warn',
      title: said(
        `^The clock of process ${ahead.pid} on ${hostname()} is (29|30)`,
        `ahead of the database's`,
      ),
    })
    expect((await finding()).detail).not.toContain(`process ${right.pid}`)
    const behind = await startAhead('behind', -600_000)
    await finds({
      level: 'fail',
      title: said('^The clocks of 2 workers are wrong', `process ${behind.pid} on .* by`),
      detail: said(`process ${behind.pid} on .* is`, 'behind', `process ${ahead.pid} on .* is`, 'ahead of'),
    })
    // The clock of the machine that runs the doctor is right.
    expect(await lookAt(db.url, 'clock')).toMatchObject({ level: 'ok' })

    // Each worker goes on measuring: now the one that was behind has the time of the database.
    await clock.advance('-10 minutes')
    await finds({ level: 'fail', detail: said(`process ${ahead.pid} on`, `process ${right.pid} on`) })
    await finds({ detail: expect.not.stringContaining(`process ${behind.pid}`) as string })
    // Workers that have stopped are not reported.
    for (const one of [ahead, right]) one.signal('SIGTERM')
    await Promise.all([ahead.exited, right.exited])
    await finds({ level: 'ok', detail: said('^1 live worker measured') })
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

  test('the doctor finds workers without a leader, and services that fail or are late', async () => {
    const db = await newDatabase()
    expect(await lookAt(db.url, 'upkeep')).toMatchObject({
      level: 'ok',
      title: expect.stringContaining('No live worker') as string,
    })
    const worker = await plantWorker(db)
    expect(await lookAt(db.url, 'upkeep')).toMatchObject({ level: 'warn', title: 'No maintenance leader' })
    await plantLeader(db, worker, '5 hours')
    await db.query(
      `insert into stint.service (name, last_ok_at, last_error, last_error_at)
       values ('partitions', stint.now() - interval '4 hours', null, null),
              ('expired', stint.now(), null, null),
              ('old-days', stint.now() - interval '2 minutes', 'out of luck', stint.now())`,
    )
    expect(await lookAt(db.url, 'upkeep')).toMatchObject({
      level: 'warn',
      title: 'Upkeep services are late or failing: old-days, partitions',
      detail: expect.stringMatching(/old-days: out of luck; partitions has not succeeded for 4h/) as string,
    })
    await db.query(
      `update stint.service set last_ok_at = stint.now() - interval '3 days' where name = 'old-days'`,
    )
    expect(await lookAt(db.url, 'upkeep')).toMatchObject({ level: 'fail' })
    // A leader that took over just now has had no time for the late services.
    await db.query(`update stint.service set last_error = null`)
    await db.query(`update stint.leader set since = stint.now()`)
    expect(await lookAt(db.url, 'upkeep')).toMatchObject({ level: 'ok' })
  })

  test('the doctor finds queues with jobs in any state and no worker', async () => {
    const db = await newDatabase()
    const stint = clientOf(db)
    await plantWorker(db, { queues: { served: 1 }, kinds: ['k'] })
    await stint.enqueue(defineJob({ kind: 'k', queue: 'served' }))
    expect(await lookAt(db.url, 'queues')).toMatchObject({ level: 'ok', detail: '1 queue has live jobs.' })
    await stint.enqueue(defineJob({ kind: 'k', queue: 'ready' }))
    await stint.enqueue(defineJob({ kind: 'k', queue: 'keyed' }), {}, { key: 'a' })
    await stint.enqueue(defineJob({ kind: 'k', queue: 'scheduled' }), {}, { delay: '1h' })
    await db.query(
      `insert into stint.job (id, queue, kind, state, epoch, worker_id, lease_id)
       values (gen_random_uuid(), 'waiting', 'k', 'waiting', 0, null, null),
              (gen_random_uuid(), 'retrying', 'k', 'retrying', 1, null, null),
              (gen_random_uuid(), 'running', 'k', 'running', 1, gen_random_uuid(), gen_random_uuid())`,
    )
    expect(await lookAt(db.url, 'queues')).toMatchObject({
      level: 'warn',
      title: 'No live worker serves keyed, ready, retrying, running, scheduled, waiting',
    })
    // A worker whose lease has expired serves no queue.
    await db.query(`update stint.worker set lease_until = stint.now() - interval '1 second'`)
    expect((await lookAt(db.url, 'queues')).title).toContain('served')
  })

  test('the doctor finds kinds that no worker of their queue handles', async () => {
    const db = await newDatabase()
    const stint = clientOf(db)
    await plantWorker(db, { queues: { mail: 1 }, kinds: ['mail.send'] })
    await plantWorker(db, { queues: { other: 1 }, kinds: ['mail.count'] })
    await stint.enqueue(mail)
    expect(await lookAt(db.url, 'kinds')).toMatchObject({ level: 'ok' })
    const forgotten = defineJob({ kind: 'mail.count', queue: 'mail' })
    await stint.enqueueMany(forgotten, [{}, {}, {}])
    await stint.enqueue(forgotten, {}, { key: 'a' })
    await stint.enqueue(forgotten, {}, { delay: '1h' })
    expect(await lookAt(db.url, 'kinds')).toMatchObject({
      level: 'warn',
      title: "No live worker handles 'mail.count'",
      detail: expect.stringContaining("'mail.count' in mail (5)") as string,
      fix: 'stint job list --kind mail.count --queue mail',
    })
  })

  test('the doctor finds workers of different versions after a deployment would be over', async () => {
    const db = await newDatabase()
    await plantWorker(db, { queues: { a: 1 }, version: '1', up: '2 hours' })
    await plantWorker(db, { queues: { b: 1 }, version: '2', up: '2 hours' })
    expect(await lookAt(db.url, 'versions')).toMatchObject({
      level: 'ok',
      title: 'All workers run the same version',
    })
    await plantWorker(db, { queues: { a: 1 }, version: '1.1', up: '1 minute' })
    expect(await lookAt(db.url, 'versions')).toMatchObject({
      level: 'ok',
      title: 'A deployment is under way',
    })
    await db.query(`update stint.worker set started_at = stint.now() - interval '1 hour'`)
    expect(await lookAt(db.url, 'versions')).toMatchObject({
      level: 'warn',
      detail: expect.stringContaining('code of queue a: 1 and 1.1') as string,
    })
    await plantWorker(db, { queues: { c: 1 }, stintVersion: '2.0.0', up: '1 hour' })
    expect((await lookAt(db.url, 'versions')).detail).toContain('stint 1.0.0 and 2.0.0')
  })

  test('the doctor finds schedules that are late or fail', async () => {
    const db = await newDatabase()
    const stint = clientOf(db)
    for (const name of ['late', 'failing', 'paused', 'orphan'])
      await stint.schedules.set({ name, job: mail, every: '1h', input: {} })
    expect(await lookAt(db.url, 'schedules')).toMatchObject({ level: 'ok' })
    await db.query(
      `update stint.schedule set next_fire_at = stint.now() - interval '10 minutes' where name <> 'failing'`,
    )
    await db.query(`update stint.schedule set failures = 3 where name = 'failing'`)
    await db.query(`update stint.schedule set source = 'code' where name = 'orphan'`)
    await stint.schedules.pause('paused')
    expect(await lookAt(db.url, 'schedules')).toMatchObject({
      level: 'warn',
      title: '2 schedules are late or failing',
      detail: expect.stringMatching(
        /^late should have fired 10m\S* ago; failing has failed 3 times\./,
      ) as string,
      fix: 'stint schedule get late',
    })
    await plantWorker(db, { schedules: ['orphan'] })
    expect((await lookAt(db.url, 'schedules')).title).toContain('3 schedules')
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
})

describe('checks that cannot run', () => {
  test('a check that gets no answer in time is unknown with the reason, and does not stop the others', async () => {
    const db = await newDatabase()
    const locker = await connectTo(db.url)
    await locker.query('begin; lock table stint.worker in access exclusive mode')
    const found = await look(db.url)
    for (const check of ['worker-clocks', 'upkeep', 'queues', 'kinds', 'versions'])
      expect(found[check]).toMatchObject({
        level: 'unknown',
        detail: expect.stringContaining('The check took longer than 3 s') as string,
      })
    for (const check of ['server', 'clock', 'partitions', 'dead-rows', 'snapshots'])
      expect(found[check], check).toMatchObject({ level: 'ok' })
  })

  test('a viewer gets every finding except those that need rights on sessions and tables', async () => {
    const schema = 'doctor_test'
    const db = await createEmptyDatabase()
    onTestFinished(() => db.drop())
    await clientOf(db, schema).migrate({ roles: true })
    await db.query('drop role if exists login_doctor')
    await db.query(`create role login_doctor login password 'secret' in role ${schema}_viewer`)
    onTestFinished(async () => {
      await db.query('drop owned by login_doctor; drop role login_doctor')
    })
    const url = new URL(db.url)
    url.username = 'login_doctor'
    url.password = 'secret'
    await clientOf(db, schema).enqueue(mail)
    const holder = await connectTo(db.url)
    await holder.query('begin isolation level repeatable read; select 1')
    const found = await look(url.href, { schema, limits: { indexBytes: 0 } })
    expect(found['snapshots']).toMatchObject({
      level: 'unknown',
      detail: expect.stringContaining('pg_read_all_stats') as string,
      fix: 'grant pg_read_all_stats to login_doctor;',
    })
    expect(found['index-bloat']).toMatchObject({
      level: 'unknown',
      detail: expect.stringContaining('The database login lacks a permission: permission denied') as string,
    })
    expect(found['queues']).toMatchObject({ level: 'warn', title: 'No live worker serves mail' })
    const unknown = Object.values(found).filter(({ level }) => level === 'unknown')
    expect(unknown.map(({ check }) => check)).toEqual(['index-bloat', 'snapshots'])
    await db.query(found['snapshots']?.fix ?? '')
    expect(await lookAt(url.href, 'snapshots', { schema, limits: { snapshotWarnMs: 0 } })).toMatchObject({
      level: 'warn',
    })
  })
})

describe('stint.doctor()', () => {
  test('stint.doctor() returns a finding for each check, and they are valid JSON', async () => {
    const db = await newDatabase()
    const { findings, asOf } = await clientOf(db).doctor()
    expect(asOf).toBeInstanceOf(Date)
    expect(findings.map(({ check }) => check)).toEqual([
      ...['server', 'fsync', 'full-page-writes', 'synchronous-commit', 'clock', 'worker-clocks', 'schema'],
      ...['invalid-indexes', 'index-bloat', 'partitions', 'autovacuum', 'dead-rows', 'snapshots', 'xid-age'],
      ...['notify-queue', 'upkeep', 'queues', 'claims', 'kinds', 'versions', 'schedules'],
    ])
    expect(JSON.parse(JSON.stringify(findings))).toEqual(findings)
  })

  test('stint.doctor() runs only the requested checks, once each', async () => {
    const db = await newDatabase()
    const { findings } = await clientOf(db).doctor({ only: ['schema', 'fsync', 'schema'] })
    expect(findings.map(({ check }) => check)).toEqual(['fsync', 'schema'])
  })

  test('stint.doctor() refuses an unknown check', async () => {
    const db = await newDatabase()
    const stint = clientOf(db)
    await expect(stint.doctor({ only: ['shema'] as never })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(stint.doctor({ olny: [] } as never)).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(stint.doctor({ only: 'schema' } as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
