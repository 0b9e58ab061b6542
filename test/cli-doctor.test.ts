import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Examination } from '../src/index.ts'
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

test('stint doctor shows the passed checks and exits with 0, or with 7 once it finds something', async () => {
  const fine = await run('doctor', '--only', 'server,schema', '--only', 'partitions')
  expect(fine).toMatchObject({ code: 0, stderr: '' })
  expect(fine.stdout).toMatch(
    /^ +CHECK +FINDING\n✓ +server +PostgreSQL \d.*\n✓ +schema +The schema is at version \d+\n✓ +partitions +Partitions exist for the next 7 days\n$/,
  )
  await db.query('drop index stint.job_waiting')
  const sick = await run('doctor', '--only', 'schema,server')
  expect(sick).toMatchObject({ code: 7, stderr: '' })
  expect(sick.stdout).toMatch(/✓ +server .*\n✖ +schema +The schema differs from the migrations: 1 missing\n/)
  expect(sick.stdout).toMatch(
    /\n✖ schema: The schema .*\n {2}Missing: index job_waiting\. .*\n {4}CREATE INDEX CONCURRENTLY job_waiting ON "stint"\.job .*;\n$/,
  )
  const json = await run('doctor', '-o', 'json')
  expect(json.code).toBe(7)
  const { findings, asOf } = JSON.parse(json.stdout) as Examination
  expect(asOf).toMatch(/^\d{4}-\d\d-\d\dT/)
  expect(findings.find(({ check }) => check === 'schema')).toMatchObject({
    level: 'fail',
    fix: expect.stringContaining('job_waiting') as string,
  })
})

test.each([[['doctor', 'now']], [['doctor', '--only', 'shema']], [['doctor', '-o', 'id']]])(
  'stint %j is a usage error',
  async (args) => {
    expect((await run(...args)).code).toBe(2)
  },
)
