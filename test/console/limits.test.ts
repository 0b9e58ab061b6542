import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Console } from '../../src/entry/server.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { call, openConsole, tokens } from './scene.ts'
import type { Answer } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

test('requests that wait for jobs leave room for others: past 128 the answer comes at once', async () => {
  const served = openConsole(db.url)
  const { token } = tokens.operator
  const post = (): Promise<Answer> =>
    call(served, 'POST /v1/jobs', {
      ...{ token, json: { kind: 'any.thing', input: 1 } },
      headers: { Prefer: 'wait=30' },
    })
  const waiting = Array.from({ length: 128 }, post)
  await eventually(async () => {
    expect(await numberOf(served, 'waits', { token })).toBe(128)
  })
  const next = await post()
  expect(next.status).toBe(202)
  expect(next.headers.get('Preference-Applied')).toBeNull()
  expect(await numberOf(served, 'waits', { token })).toBe(128)
  // Ends what waits.
  await served.close()
  await Promise.all(waiting)
})

async function numberOf(served: Console, name: string, as: { token?: string } = {}): Promise<number> {
  const { text } = await call(served, 'GET /metrics', as)
  return Number(new RegExp(`^stint_console_${name} (\\d+)$`, 'm').exec(text)?.[1])
}
