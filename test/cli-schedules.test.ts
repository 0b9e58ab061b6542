import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { finish } from './support/processes.ts'
import type { Finished } from './support/processes.ts'

const cli = join(import.meta.dirname, '../dist/cli/main.js')

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

function run(...args: string[]): Promise<Finished> {
  return finish(process.execPath, [cli, 'schedule', ...args], {
    env: { ...process.env, DATABASE_URL: db.url },
  })
}

test('a schedule is set, looked at, paused, resumed, run and deleted from a shell', async () => {
  const rule = ['--cron', '30 2 * * *', '--time-zone', 'Europe/Rome']
  const set = await run('set', 'nightly', '--kind', 'report.send', ...rule, '--input', '{"to":"ana"}')
  expect(set).toMatchObject({ code: 0, stderr: '' })
  expect(set.stdout).toContain('30 2 * * * Europe/Rome')
  const listed = await run('list')
  expect(listed.stdout).toMatch(/^NAME +RULE +KIND +QUEUE +NEXT/)
  expect(listed.stdout).toMatch(/nightly +30 2 \* \* \* Europe\/Rome +report\.send +default +in /)
  // A year has both; which of them comes first depends on when this runs.
  const next = await run('next', 'nightly', '-n', '400')
  expect(next.stdout).toMatch(/ {2}gap\n/)
  expect(next.stdout).toMatch(/ {2}overlap\n/)
  expect(JSON.parse((await run('pause', 'nightly', '--for', '2h', '-o', 'json')).stdout)).toMatchObject({
    isPaused: true,
  })
  expect(JSON.parse((await run('resume', 'nightly', '-o', 'json')).stdout)).toMatchObject({ isPaused: false })
  const made = await run('run', 'nightly')
  expect(made.stdout).toMatch(/^[0-9a-f-]{36}\n$/)
  const shown = await run('get', 'nightly')
  expect(shown.stdout).toContain('run now')
  expect(shown.stdout).toContain('{"to":"ana"}')
  const range = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-03T23:00:00Z']
  const preview = await run('backfill', 'nightly', ...range, '--dry-run')
  expect(preview).toMatchObject({ code: 0, stderr: '3 of 3 would fire\n' })
  expect(await run('backfill', 'nightly', ...range)).toMatchObject({ stderr: '3 of 3 fired\n' })
  expect(await run('delete', 'nightly')).toMatchObject({ code: 0, stderr: "'nightly' is gone\n" })
  expect(await run('get', 'nightly')).toMatchObject({ code: 3 })
})

test('what is wrong is said, with the exit code for it', async () => {
  expect(await run('set', 'bad', '--kind', 'k', '--cron', '0 0 30 2 *')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('never fires') as string,
  })
  expect(await run('pause', 'none')).toMatchObject({ code: 3 })
  expect(await run('set', 'x')).toMatchObject({ code: 2 })
  for (const verb of ['list', 'get', 'next', 'set', 'run', 'pause', 'resume', 'backfill', 'delete'])
    expect((await run(verb, '--help')).stdout, verb).toContain('Examples\n')
})
