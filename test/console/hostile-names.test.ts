import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { call, openConsole, openStint, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'a/b%c', '0']

test('names that mean something to JavaScript are counted and shown like any other', async () => {
  const stint = openStint(db.url)
  for (const name of names)
    await stint.enqueue(defineJob({ kind: name, queue: name }), { [name]: 1 }, { key: name })
  const served = openConsole(db.url)
  const { token } = tokens.admin
  const looks = [
    'overview',
    'queues',
    'metrics',
    'stats',
    'jobs',
    'workers',
    'system',
    'kinds',
    'error-groups',
  ]
  const paths = [...looks, ...names.map((name) => `queues/${encodeURIComponent(name)}`)]
  for (const path of paths) {
    const { status, text } = await call(served, `GET /v1/${path}`, { token })
    expect(status, `${path}: ${text}`).toBe(200)
  }
  const inherited: string[] = []
  for (const name in {}) inherited.push(name)
  expect(inherited).toEqual([])
  const { body } = await call(served, 'GET /v1/queues', { token })
  const queues = (body['items'] as { queue: string }[]).map(({ queue }) => queue)
  expect(queues).toEqual(expect.arrayContaining(names))
})
