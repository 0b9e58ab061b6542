import { afterAll, beforeAll, expect, test } from 'vitest'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

function run(...args: string[]): Promise<CommandResult> {
  return runStint(args, db.url)
}

test('stint queue sets, gets and lists how long jobs are kept', async () => {
  const none = await run('queue', 'list')
  expect(none).toMatchObject({ code: 0, stdout: '' })
  expect(none.stderr).toContain('no queue has its own settings')
  const set = await run('queue', 'set', 'mail', '--keep', '0', '--keep-dead', '30d')
  expect(set).toMatchObject({ code: 0, stderr: '' })
  expect(set.stdout).toMatch(/^queue +mail\nkeep +a few minutes\nkeep dead +30d\nset +\d{4}-/)
  const json = await run('queue', 'get', 'mail', '-o', 'json')
  expect(JSON.parse(json.stdout)).toMatchObject({ queue: 'mail', keepMs: 0, keepDeadMs: 2_592_000_000 })
  expect((await run('queue', 'set', 'mail', '--keep', 'default')).stdout).toMatch(/keep +7d \(default\)\n/)
  expect((await run('queue', 'list')).stdout).toMatch(
    /^QUEUE +KEEP +KEEP DEAD +SET\nmail +7d \(default\) +30d /,
  )
})

test.each([
  [['queue']],
  [['queue', 'get']],
  [['queue', 'set', 'mail']],
  [['queue', 'set', 'mail', '--keep', 'soon']],
  [['queue', 'get', 'a b']],
  [['queue', 'get', 'mail', 'more']],
])('stint %j is a usage error', async (args) => {
  expect((await run(...args)).code).toBe(2)
})
