import { describe, expect, onTestFinished, test } from 'vitest'
import { connectTo, createEmptyDatabase } from '../support/database.ts'
import { clientOf, look, lookAt, mail, newDatabase } from './scene.ts'

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

  test('a viewer gets every finding except those that need rights on sessions, tables and waits', async () => {
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
    expect(unknown.map(({ check }) => check)).toEqual(['index-bloat', 'snapshots', 'parked'])
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
      ...[
        'notify-queue',
        'upkeep',
        'queues',
        'pauses',
        'claims',
        'kinds',
        'versions',
        'schedules',
        'limits',
        'breakers',
        'parked',
        'held-flows',
        'flow-endings',
        'flow-counts',
      ],
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
