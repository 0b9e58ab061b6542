import { afterAll, beforeAll, expect, test } from 'vitest'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { plantBreaker } from './support/planted-breaker.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

function run(...args: string[]): Promise<CommandResult> {
  return runStint(['breaker', ...args], db.url)
}

test('a shell lists, shows, probes, opens, closes and resets breakers', async () => {
  expect(await run('list')).toMatchObject({ code: 0, stdout: '', stderr: 'no breakers\n' })
  await plantBreaker(db, { name: 'smtp', queue: 'mail', kind: 'mail.send' })
  const listed = await run('list')
  expect(listed.stdout).toMatch(/^NAME +STATE +SINCE +FAILED +NEXT/)
  expect(listed.stdout).toMatch(/smtp +open .* probe in /)
  const shown = await run('get', 'smtp')
  expect(shown.stdout).toContain('23 of 25 failed Error: down')
  expect(shown.stdout).toContain('mail/mail.send')
  expect(shown.stdout).toContain('closed → open')
  expect((await run('probe', 'smtp')).stdout).toContain('probe: now')
  expect((await run('open', 'smtp')).code).toBe(2)
  const opened = await run('open', 'smtp', '--for', '10m', '--reason', 'they move')
  expect(opened.stdout).toContain('open, forced')
  expect(opened.stdout).toContain('they move')
  expect((await run('probe', 'smtp')).code).toBe(4)
  const closed = await run('close', 'smtp', '--for', '10m', '-o', 'json')
  expect(JSON.parse(closed.stdout)).toMatchObject({ state: 'closed' })
  expect(JSON.parse((await run('reset', 'smtp', '-o', 'json')).stdout)).toMatchObject({ forced: null })
  expect((await run('get', 'gone')).code).toBe(3)
  expect((await run('reset')).code).toBe(2)
})
