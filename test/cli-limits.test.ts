import { afterAll, beforeAll, expect, test } from 'vitest'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  await db.query(
    `insert into stint.concurrency_limit (name, by_key, max, tiers) values ('media/tenant', true, 2, '{"gold": 9}')`,
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name) values ('media', 'concurrency', 'media/tenant')`,
  )
  await db.query(`insert into stint.rate (name, tokens, period_ms, burst) values ('openai', 60, 60000, 10)`)
})
afterAll(() => db.drop())

function run(...args: string[]): Promise<CommandResult> {
  return runStint(['limit', ...args], db.url)
}

test('a shell lists, overrides and clears a limit', async () => {
  const listed = await run('list')
  expect(listed.stdout).toMatch(/^NAME +TYPE +USE +BEHIND +COVERS +OVERRIDE +SOURCE\n/)
  expect(listed.stdout).toMatch(/media\/tenant +concurrency by key +0\/2 +media +code, in no live worker/)
  expect(listed.stdout).toMatch(/openai +rate +10 tokens/)
  const planned = await run('set', 'media/tenant', '--max', '5', '--for', '1h', '--dry-run')
  expect(planned).toMatchObject({ code: 0, stderr: "'media/tenant': would be set to max 5 for 1h\n" })
  const set = await run('set', 'media/tenant', '--max', '5', '--for', '1h', '--reason', 'backlog')
  expect(set).toMatchObject({ code: 0, stderr: '' })
  expect(set.stdout).toMatch(/override +5 until .* by cli:/)
  expect(set.stdout).toMatch(/reason +backlog/)
  expect(JSON.parse((await run('get', 'media/tenant', '-o', 'json')).stdout)).toMatchObject({
    max: 5,
    override: { to: 5, reason: 'backlog' },
  })
  expect(JSON.parse((await run('clear', 'media/tenant', '-o', 'json')).stdout)).toMatchObject({
    max: 2,
    override: null,
  })
  expect(
    await db.query(
      `select action, actor like 'cli:%' as typed from stint.audit where target = 'media/tenant'`,
    ),
  ).toEqual([
    { action: 'limit.override', typed: true },
    { action: 'limit.clear', typed: true },
  ])
})

test('a shell gives a key a tier, shows the rule and clears it', async () => {
  const set = await run('key', 'media/tenant', 'acme', '--tier', 'gold', '--weight', '3', '--reason', 'paid')
  expect(set.stdout).toMatch(/acme +3 +gold +cleared +cli:.* +paid/)
  expect((await run('keys', 'media/tenant')).stdout).toMatch(
    /^KEY +MAX +WEIGHT +TIER +UNTIL +BY +REASON\nacme/,
  )
  expect(await run('key', 'media/tenant', 'acme', '--clear')).toMatchObject({
    code: 0,
    stderr: "'acme' has no rule of its own in 'media/tenant'\n",
  })
  expect((await run('keys', 'media/tenant')).stderr).toContain('no key')
})

test('a shell penalises and deletes a rate, and says what is wrong', async () => {
  expect((await run('penalise', 'openai', '--for', '1h', '--reason', '429')).stdout).toContain('penalised')
  expect(await run('delete', 'openai')).toMatchObject({ code: 0, stderr: "'openai' is gone\n" })
  expect(await run('get', 'openai')).toMatchObject({ code: 3 })
  expect(await run('set', 'media/tenant', '--max', '5')).toMatchObject({ code: 2 })
  expect(await run('set', 'media/tenant', '--max', 'x', '--for', '1h')).toMatchObject({ code: 2 })
  expect(await run('key', 'media/tenant', 'acme')).toMatchObject({ code: 2 })
  const unknown = await run('key', 'media/tenant', 'acme', '--tier', 'silver')
  expect(unknown.code).not.toBe(0)
  expect(unknown.stderr).toContain("Expected `tier` to be 'gold', got 'silver'")
})
