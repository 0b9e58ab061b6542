import { expect, test } from 'vitest'
import { lookAt, newDatabase, plantWorker } from './scene.ts'

test('the doctor names limits that no live worker declares or that cover no queue in use', async () => {
  const db = await newDatabase()
  await db.query(
    `insert into stint.concurrency_limit (name, max) values ('used', 1), ('left', 1), ('idle', 1)`,
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name)
     values ('mail', 'concurrency', 'used'), ('mail', 'concurrency', 'left'), ('mial', 'concurrency', 'idle')`,
  )
  expect(await lookAt(db.url, 'limits')).toMatchObject({ level: 'ok' })
  await plantWorker(db, { queues: { mail: 1 }, limits: ['used', 'idle'] })
  const found = await lookAt(db.url, 'limits')
  expect(found).toMatchObject({ level: 'warn', title: '2 limits need attention' })
  expect(found.detail).toContain('The limit left is in the code of no live worker')
  expect(found.detail).toContain('The limit idle covers no queue that has jobs or a worker')
  expect(found.fix).toBe('stint limit delete left')
})

test('the doctor names broken limits, and key rules of a limit that does not exist', async () => {
  const db = await newDatabase()
  await db.query(
    `insert into stint.concurrency_limit (name, max, tiers, override_max)
     values ('tiers', 1, '{"gold": "x"}', null), ('endless', 1, null, 5)`,
  )
  await db.query(`insert into stint.limit_key (name, key, max) values ('gone', 'acme', 5)`)
  const found = await lookAt(db.url, 'limits')
  expect(found).toMatchObject({ level: 'warn', title: '3 limits need attention' })
  for (const name of ['tiers', 'endless', 'gone']) expect(found.detail).toContain(`The limit ${name} has`)
})
