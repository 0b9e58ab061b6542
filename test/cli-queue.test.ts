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
    /^QUEUE +KEEP +KEEP DEAD +SET +PAUSED\nmail +7d \(default\) +30d /,
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

test('stint queue pauses and resumes a queue, a kind and a key, and shows what is paused', async () => {
  const paused = await run('queue', 'pause', 'media', '--for', '2h', '--reason', 'the provider is down')
  expect(paused).toMatchObject({ code: 0, stderr: '' })
  expect(paused.stdout).toMatch(/\npaused +all jobs, by cli:\S+ .*, until \d{4}-.*: the provider is down\n$/)
  await run('queue', 'pause', 'media', '--key', 'acme', '--reason', 'uploads')
  await run(
    'queue',
    'pause',
    'media',
    '--kind',
    'video.cut',
    '--until',
    '2100-01-01T00:00:00Z',
    '--reason',
    'x',
  )
  const { stdout } = await run('queue', 'get', 'media')
  expect(stdout).toMatch(/\npaused +key acme, by cli:\S+ .*, until it is resumed: uploads\n/)
  expect(stdout).toMatch(/\npaused +kind video\.cut, by cli:\S+ .*, until 2100-01-01.*: x\n/)
  expect((await run('queue', 'list')).stdout).toMatch(/\nmedia .* all, 1 kind, 1 key\n/)
  expect((await run('status')).stderr).toContain('paused: media (all, 1 kind, 1 key)')
  await run('queue', 'resume', 'media')
  await run('queue', 'resume', 'media', '--key', 'acme')
  const json = await run('queue', 'resume', 'media', '--kind', 'video.cut', '-o', 'json')
  expect(JSON.parse(json.stdout)).toMatchObject({ queue: 'media', pauses: [] })
})

test.each([
  [['queue', 'pause', 'media']],
  [['queue', 'pause', '--reason', 'x']],
  [['queue', 'pause', 'media', '--for', 'long', '--reason', 'x']],
  [['queue', 'pause', 'media', '--until', '2001-01-01T00:00:00Z', '--reason', 'x']],
  [['queue', 'pause', 'media', '--kind', 'a', '--key', 'b', '--reason', 'x']],
  [['queue', 'resume']],
])('stint %j is a usage error', async (args) => {
  expect((await run(...args)).code).toBe(2)
})

test('stint queue pressure, drain and open say how full a queue is and whether it takes jobs', async () => {
  await db.query(
    `insert into stint.queue (name, pressure) values ('full', '{"maxDepth": 1000, "whenFull": "reject"}')`,
  )
  const pressure = await run('queue', 'pressure', 'full')
  expect(pressure).toMatchObject({ code: 0, stderr: '' })
  expect(pressure.stdout).toMatch(
    /^queue +full\nstate +open\ndepth +0 of 1,000\nwhen full +reject\ncounted +\d/,
  )
  const ofKey = await run('queue', 'pressure', 'full', '--key', 'acme', '-o', 'json')
  expect(JSON.parse(ofKey.stdout)).toMatchObject({ queue: 'full', key: 'acme', state: 'open' })
  const drained = await run('queue', 'drain', 'full', '--reason', 'moving')
  expect(drained.stdout).toMatch(/state +closed\n[^]*closed +\d[^]*reason +moving\n/)
  const opened = await run('queue', 'open', 'full', '-o', 'json')
  expect(JSON.parse(opened.stdout)).toMatchObject({ state: 'open', closedAt: null })
  const [audited] = await db.query<{ actions: string }>(
    `select string_agg(action, ' ' order by at) as actions from stint.audit where target = 'full'`,
  )
  expect(audited?.actions).toBe('queue.drain queue.open')
})

test('a broken rule is shown as broken', async () => {
  await db.query(`insert into stint.queue (name, pressure) values ('broken', '{"maxDepth": []}')`)
  expect((await run('queue', 'pressure', 'broken')).stdout).toContain('the stored rule is broken and ignored')
})

test.each([
  [['queue', 'pressure']],
  [['queue', 'pressure', 'a', '--key', '']],
  [['queue', 'drain', 'a b']],
  [['queue', 'open']],
])('stint %j is a usage error too', async (args) => {
  expect((await run(...args)).code).toBe(2)
})
