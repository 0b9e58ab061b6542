import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startOwnServer } from '../support/own-server.ts'
import type { OwnServer } from '../support/own-server.ts'
import { startWorker } from '../support/workers.ts'
import { lookAt } from './scene.ts'

/** A server with safe settings, except for a few that make it easy to break. */
function startCarefully(settings: Record<string, string> = {}): Promise<OwnServer> {
  return startOwnServer({ fsync: 'on', settings })
}

/** Changes a setting, waits for the expected finding, and resets the setting. */
async function withSetting(
  { db }: OwnServer,
  name: string,
  value: string,
  see: () => Promise<void>,
): Promise<void> {
  const set = async (statement: string): Promise<void> => {
    await db.query(statement)
    await db.query('select pg_reload_conf()')
  }
  await set(`alter system set ${name} = '${value}'`)
  await eventually(see)
  await set(`alter system reset ${name}`)
}

test('the doctor reports no finding for a healthy database, and finds each bad setting of its server', async () => {
  const server = await startCarefully()
  const { db } = server
  const job = defineJob({ kind: 'healthy', queue: 'healthy' })
  const stint = new Stint({ connection: db.url })
  onTestFinished(() => stint.close())
  const worker = await startWorker({ db, stint }, { queues: { healthy: 2 }, lease: '3s' }, (one) =>
    one.handle(job, () => undefined),
  )
  await stint.schedules.set({ name: 'nightly', job, cron: '0 3 * * *', input: {} })
  const { id } = await stint.enqueue(job)
  await stint.enqueue(job, {}, { delay: '1h' })
  await worker.hears('succeeded', id)
  const isHealthy = async (): Promise<void> => {
    const { findings } = await stint.doctor()
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([])
  }
  await eventually(isHealthy)

  const sick = [
    ['fsync', 'fsync', 'off', 'fail'],
    ['full-page-writes', 'full_page_writes', 'off', 'fail'],
    ['synchronous-commit', 'synchronous_commit', 'off', 'warn'],
    ['autovacuum', 'autovacuum', 'off', 'fail'],
    ['autovacuum', 'track_counts', 'off', 'fail'],
  ] as const
  for (const [check, setting, value, level] of sick) {
    await withSetting(server, setting, value, async () => {
      expect(await lookAt(db.url, check)).toMatchObject({
        level,
        title: `${setting} is off`,
        fix: expect.stringContaining(`alter system set ${setting} = on`) as string,
      })
    })
  }
  await db.query('alter table stint.job set (autovacuum_enabled = false)')
  const found = await lookAt(db.url, 'autovacuum')
  expect(found).toMatchObject({ level: 'fail', title: 'Autovacuum is off for job' })
  await db.query(found.fix ?? '')
  await eventually(isHealthy)
})

test('the doctor finds a prepared transaction and a replication slot that hold a snapshot', async () => {
  const { db } = await startCarefully({ max_prepared_transactions: '2' })
  const limits = { snapshotWarnMs: 0 }
  await db.query(`insert into stint.queue (name) values ('before')`)
  const session = await connectTo(db.url)
  await session.query(
    `begin; insert into stint.queue (name) values ('half'); prepare transaction 'it''s forgotten'`,
  )
  const prepared = await lookAt(db.url, 'snapshots', { limits })
  expect(prepared).toMatchObject({
    level: 'warn',
    title: expect.stringContaining(`the prepared transaction 'it's forgotten'`) as string,
    fix: `rollback prepared 'it''s forgotten';`,
  })
  await session.query(prepared.fix ?? '')
  expect(await lookAt(db.url, 'snapshots', { limits })).toMatchObject({ level: 'ok' })

  await db.query(`select pg_create_physical_replication_slot('old_standby', true)`)
  await sendStandbyFeedback(db.url, 'old_standby')
  await eventually(async () => {
    expect(await lookAt(db.url, 'snapshots')).toMatchObject({
      level: 'warn',
      title: `A snapshot is held by the replication slot 'old_standby'`,
      detail: expect.stringContaining('not active') as string,
      fix: expect.stringContaining(`pg_drop_replication_slot('old_standby')`) as string,
    })
  })
})

/** Sends the feedback of a standby with hot_standby_feedback, and disconnects. */
async function sendStandbyFeedback(url: string, slot: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, replication: 'true' } as pg.ClientConfig)
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ xlogpos: string }>('IDENTIFY_SYSTEM')
  const connection = (client as unknown as { connection: RawConnection }).connection
  const started = new Promise((resolve) => {
    connection.once('replicationStart', resolve)
  })
  connection.query(`START_REPLICATION SLOT "${slot}" PHYSICAL ${rows[0]?.xlogpos ?? ''}`)
  await started
  const message = Buffer.alloc(25)
  message.write('h')
  message.writeUInt32BE(700, 9)
  connection.sendCopyFromChunk(message)
  const watcher = await connectTo(url)
  await eventually(async () => {
    const { rows: slots } = await watcher.query('select xmin::text from pg_replication_slots')
    expect(slots).toEqual([{ xmin: '700' }])
  })
  connection.stream.destroy()
}

interface RawConnection {
  once(name: 'replicationStart', listener: (message: unknown) => void): void
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  stream: { destroy(): void }
}

test('the doctor finds a notification queue that fills up', async () => {
  const { db } = await startCarefully({ max_notify_queue_pages: '64' })
  const listener = await connectTo(db.url)
  await listener.query('listen stint_doctor')
  await listener.query('begin; select 1 as listening')
  await db.query(`select pg_notify('stint_doctor', n || repeat('x', 7900)) from generate_series(1, 20) as n`)
  expect(await lookAt(db.url, 'notify-queue')).toMatchObject({
    level: 'warn',
    title: expect.stringMatching(/is [23]\d % full/) as string,
    fix: expect.stringContaining('pg_terminate_backend') as string,
  })
  await db.query(`select pg_notify('stint_doctor', n || repeat('x', 7900)) from generate_series(21, 42) as n`)
  expect(await lookAt(db.url, 'notify-queue')).toMatchObject({ level: 'fail' })
  await listener.query('rollback')
})

test('the doctor finds transaction ids that are too old', async () => {
  const { db } = await startCarefully({ autovacuum: 'off', allow_system_table_mods: 'on' })
  expect(await lookAt(db.url, 'xid-age')).toMatchObject({ level: 'ok' })
  const plant = (age: number): Promise<unknown> =>
    db.query(
      `update pg_database
          set datfrozenxid = ((txid_current() + 4294967296 - $1::bigint) % 4294967296)::text::xid
        where datname = current_database()`,
      [age],
    )
  await plant(600_000_000)
  expect(await lookAt(db.url, 'xid-age')).toMatchObject({
    level: 'warn',
    title: 'The oldest transaction id is 600 million transactions old',
  })
  await plant(1_500_000_000)
  expect(await lookAt(db.url, 'xid-age')).toMatchObject({ level: 'fail' })
})
