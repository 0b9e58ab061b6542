import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

/** All options of a definition. */
const columns = `kind, queue, spec, time_zone, job, input, overlap, missed, missed_limit, missed_window_ms, jitter_ms,
  keep_fires_ms, starts_at, ends_at`
type Row = Record<string, unknown>

function run(...args: string[]): Promise<CommandResult> {
  return runStint(['schedule', ...args], db.url)
}

test('a shell sets, shows, pauses, resumes, runs and deletes a schedule', async () => {
  const rule = ['--cron', '30 2 * * *', '--time-zone', 'Europe/Rome']
  const what = ['--kind', 'report.send', ...rule, '--input', '{"to":"ana"}', '--reason', 'asked for']
  const set = await run('set', 'nightly', ...what)
  expect(set).toMatchObject({ code: 0, stderr: '' })
  expect(
    await db.query(
      `select action, reason, actor like 'cli:%' as typed from stint.audit where target = 'nightly'`,
    ),
  ).toEqual([{ action: 'schedule.set', reason: 'asked for', typed: true }])
  expect(set.stdout).toContain('30 2 * * * Europe/Rome')
  const listed = await run('list')
  expect(listed.stdout).toMatch(/^NAME +RULE +KIND +QUEUE +NEXT/)
  expect(listed.stdout).toMatch(/nightly +30 2 \* \* \* Europe\/Rome +report\.send +default +in /)
  // A year has both; which one comes first depends on the date of the run.
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

test('stint schedule set keeps the options of a stored schedule that it does not name', async () => {
  const stint = new Stint({ connection: db.url })
  const job = defineJob({
    kind: 'bill.send',
    queue: 'bills',
    version: 3,
    retry: { attempts: 7, classes: { crash: 'dead' } },
    unique: { until: 'started', by: () => 'one' },
  })
  await stint.schedules.set({
    name: 'bills',
    job,
    cron: '0 2 * * *',
    timeZone: 'Europe/Rome',
    input: { to: 'ana' },
    options: { priority: 9, key: 'acme', timeout: '10s', deadline: '1h', search: { at: 'a:b' } },
    overlap: 'skip',
    missed: { policy: 'all', limit: 7, window: '3d' },
    jitter: '5m',
    keepFires: '90d',
    startsAt: '2026-01-01T00:00:00Z',
    endsAt: '2100-01-01T00:00:00Z',
  })
  const stored = async (): Promise<Row | undefined> =>
    (await db.query<Row>(`select ${columns} from stint.schedule where name = 'bills'`))[0]
  const before = await stored()
  const edit = async (...args: string[]): Promise<void> => {
    expect(await run('set', 'bills', ...args)).toMatchObject({ code: 0, stderr: '' })
  }
  await edit('--cron', '0 3 * * *')
  const later = { ...before, spec: { type: 'cron', cron: '0 3 * * *' } }
  expect(await stored()).toEqual(later)
  await edit('--every', '15m', '--missed-limit', '20', '--missed-window', '1d', '--ends-at', 'none')
  const often = { ...later, spec: { type: 'every', everyMs: 900_000 }, missed_limit: 20 }
  expect(await stored()).toEqual({ ...often, missed_window_ms: '86400000', ends_at: null })
  await edit(
    '--kind',
    'bill.print',
    '--queue',
    'paper',
    '--input',
    'null',
    '--priority=-5',
    '--missed',
    'once',
  )
  expect(await stored()).toMatchObject({
    kind: 'bill.print',
    queue: 'paper',
    input: null,
    missed: 'once',
    missed_limit: 20,
    overlap: 'skip',
    // The version and the unique rule came from the other kind's contract.
    job: { priority: -5, maxAttempts: 7, key: 'acme', version: 1, tokens: ['at:a:b'] },
  })
  await stint.close()
})

test('stint schedule set sets how many missed fires to make up for, and how old they may be', async () => {
  const rule = ['--kind', 'k', '--every', '1h', '--missed', 'all']
  const set = await run('set', 'catch-up', ...rule, '--missed-limit', '3', '--missed-window', '2d')
  expect(set.stdout).toMatch(/missed +all up to 3, within 2d/)
  expect(await run('set', 'catch-up', '--missed-limit', '1001')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('`missed.limit` to be an integer from 1 to 1000') as string,
  })
  expect(await run('set', 'catch-up', '--missed-window', '400d')).toMatchObject({ code: 2 })
})

test('stint schedule set without an input refuses to change a schedule whose input comes from code', async () => {
  const made = `insert into stint.schedule (name, kind, queue, spec, job, input_from_code, source, digest, decided_to)
    values ('made', 'k', 'default', '{"type":"every","everyMs":60000}', '{"priority":0}', true, 'code', '', now())`
  await db.query(made)
  expect(await run('set', 'made', '--every', '1h')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Code makes the input') as string,
  })
  expect(await run('set', 'made', '--every', '1h', '--input', '{}')).toMatchObject({ code: 0 })
})

test('stint schedule says what is wrong, with the exit code for it', async () => {
  expect(await run('set', 'bad', '--kind', 'k', '--cron', '0 0 30 2 *')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('never fires') as string,
  })
  expect(await run('pause', 'none')).toMatchObject({ code: 3 })
  expect(await run('set', 'x')).toMatchObject({ code: 2 })
  for (const verb of ['list', 'get', 'next', 'set', 'run', 'pause', 'resume', 'backfill', 'delete'])
    expect((await run(verb, '--help')).stdout, verb).toContain('Examples\n')
})
