import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stint } from '../src/index.ts'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { movableClock } from './support/clock.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  await db.query(`insert into stint.stat_minute
      (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, attempts, wait, run)
    values (date_trunc('minute', now()) - interval '1 minute', 'mail', 'mail.send', gen_random_uuid(), 1,
            1200, 1000, 990, 8, 2, 1000, '{"160": 1000}', '{"140": 1000}')`)
  // The last hour of the trend is the current one for as long as the tests take.
  const clock = await movableClock(db)
  const [row] = await db.query<{ hour: string }>(`select date_trunc('hour', now())::text as hour`)
  await clock.stopAt(row?.hour ?? '')
  for (const [fingerprint, deaths] of [
    ['aaaa', 2],
    ['bbbb', 0],
  ] as const) {
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, versions, sample_job)
       values ($1, 'mail.send', 'error', 'Refused', 'by <n>', 'by 7', stint.now() - interval '1 day', stint.now(), '{"v1": "2026"}', gen_random_uuid())`,
      [fingerprint],
    )
    await db.query(`insert into stint.error_hour values ($1, stint.now(), gen_random_uuid(), 1, 5, $2)`, [
      fingerprint,
      deaths,
    ])
  }
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

function run(...args: string[]): Promise<CommandResult> {
  return runStint(args, db.url)
}

test('stint stats shows rates and percentiles, and as JSON the result of the library', async () => {
  const { code, stdout } = await run('stats')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^QUEUE +KIND +ENQUEUED +SUCCEEDED/)
  expect(stdout).toMatch(
    /mail +mail\.send +1\.2k +990 +[\d.]+ +10 +2 +1\.0 +\S+ \/ \S+ \/ \S+ +\S+ \/ \S+ \/ \S+/,
  )
  const { stdout: json } = await run('stats', '--queue', 'mail', '-o', 'json')
  expect(JSON.parse(json)).toMatchObject({
    series: [{ queue: 'mail', succeeded: 990, points: [{ failed: 8 }] }],
  })
  expect((await run('stats', '--last', 'soon')).code).toBe(2)
})

test('stint error shows groups with their trend, and resolves and ignores them', async () => {
  const { stdout } = await run('error', 'list')
  expect(stdout).toMatch(/aaaa +mail\.send +open +5 +2 +·{23}█ +\S+ ago +v1 +Refused: by <n>/)
  expect((await run('dead', 'groups', '-o', 'id')).stdout).toBe('aaaa\n')
  expect((await run('error', 'resolve', 'aaaa', '--in', 'v2')).stdout).toMatch(/status +resolved in v2/)
  expect((await run('error', 'ignore', 'bbbb', '--for', '7d')).stdout).toMatch(/status +ignored until 2/)
  expect((await run('error', 'list', '--status', 'open')).stderr).toContain('no error groups match')
  expect((await run('error', 'reopen', 'bbbb')).stdout).toMatch(/status +open/)
  expect((await run('error', 'get', 'aaaa')).stdout).toMatch(/error +Refused: by 7/)
  expect((await run('error', 'get', 'cccc')).code).toBe(3)
})
