import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { clientOf, lookAt, mail, newDatabase, plantLeader, plantWorker } from './scene.ts'
import { plantBreaker } from '../support/planted-breaker.ts'

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
    title: said(`^The clock of process ${ahead.pid} on ${hostname()} is (29|30)`, `ahead of the database's`),
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

test('the doctor finds breakers that are open for long', async () => {
  const db = await newDatabase()
  await plantBreaker(db, { name: 'smtp', queue: 'mail', kind: 'mail.send' })
  expect(await lookAt(db.url, 'breakers')).toMatchObject({ level: 'ok' })
  // Its probes failed a minute ago, and it opened an hour ago.
  await db.query(`update stint.breaker_change set at = stint.now() - interval '1 hour'`)
  await db.query(`update stint.breaker set since = stint.now() - interval '1 minute'`)
  expect(await lookAt(db.url, 'breakers')).toMatchObject({
    level: 'warn',
    title: 'A breaker is open for long',
    detail: expect.stringMatching(/^smtp for 1h\S*\. Its jobs wait/) as string,
    fix: 'stint breaker get smtp',
  })
  await clientOf(db).breakers.reset('smtp')
  expect(await lookAt(db.url, 'breakers')).toMatchObject({ level: 'ok' })
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
