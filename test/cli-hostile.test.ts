import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { defaultLogger } from '../src/worker/report/log.ts'
import { runStint } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'
import { dropChecks } from './support/planted-rows.ts'

/**
 * Clears the screen, sets the title, C1 instead of ESC [, reverses the following text, returns to the line's beginning.
 */
const hostile = 'x\u001b[2J\u001b]0;t\u0007\u009b2J\u202e\u2066\u200f\u061c\u2028\r\u007f\b y'
const steering = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

let db: TestDatabase
let stint: Stint
let live: string
let dead: string
let operation: string
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  await dropChecks(db)
  const mail = defineJob({ kind: 'mail.send', queue: 'mail' })
  live = (await stint.enqueue(mail, { [hostile]: hostile }, { key: hostile })).id
  dead = (await stint.enqueue(mail, { [hostile]: hostile }, { key: hostile })).id
  await bury(db, dead, {
    fingerprint: 'abcd000000000000',
    error: { name: hostile, message: hostile, stack: hostile },
  })
  for (const table of ['job', 'dead'])
    await db.query(
      `update stint.${table} set queue = $1::text, kind = $1::text, correlation_id = $1::text, search = array[$1::text]`,
      [hostile],
    )
  await db.query(
    `insert into stint.attempt (job_id, epoch, attempt, outcome, started_at, error, reason)
     values ($1, 1, 1, 'failed', now(), null, $2)`,
    [live, hostile],
  )
  for (const id of [live, dead])
    await db.query(
      `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'warn', $2, to_jsonb($2::text))`,
      [id, hostile],
    )
  await db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, versions, sample_job)
     values ('abcd000000000000', $1, $1, $1, $1, $1, now(), now(), jsonb_build_object($1::text, '2026'), gen_random_uuid())`,
    [hostile],
  )
  await db.query(
    `insert into stint.error_hour values ('abcd000000000000', now(), gen_random_uuid(), 1, 5, 1)`,
  )
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, succeeded)
     values (date_trunc('minute', now()), $1, $1, gen_random_uuid(), 1, 1, 1)`,
    [hostile],
  )
  await db.query(
    `insert into stint.worker (id, lease_until, about) values (gen_random_uuid(), now() + interval '1 hour', $1)`,
    [
      JSON.stringify({
        host: hostile,
        pid: 1,
        version: hostile,
        queues: { [`${hostile}2`]: 1 },
        kinds: [hostile],
      }),
    ],
  )
  await db.query(`insert into stint.service (name, last_error, last_error_at) values ($1, $1, now())`, [
    hostile,
  ])
  await db.query(`insert into stint.queue (name, keep_finished) values ($1, '1 day')`, [hostile])
  await stint.schedules.set({ name: 'hourly', job: mail, every: '1h', input: { text: hostile } })
  await db.query(`update stint.schedule set queue = $1, kind = $1, pause_reason = $1, last_error = $1`, [
    hostile,
  ])
  operation = (await stint.operations.start({ action: 'cancel', where: 'queue:none', reason: hostile })).id
  await db.query(`update stint.operation set actor = $1, note = $1`, [hostile])
  await db.query(
    `insert into stint.operation_job (operation_id, id, outcome, reason) values ($1, $2, 'skipped', $3)`,
    [...[operation, live, hostile]],
  )
  await db.query(
    `insert into stint.audit (id, actor, origin, action, target, reason) values (gen_random_uuid(), $1, 'api', $1, $1, $1)`,
    [hostile],
  )
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

describe('no escape sequence in stored text reaches a terminal', () => {
  const commands = (): string[][] => [
    ['status'],
    ['stats'],
    ['doctor'],
    ['job', 'list'],
    ['job', 'list', '--queue', hostile],
    ['job', 'get', live],
    ['dead', 'list'],
    ['dead', 'get', dead],
    ['dead', 'groups'],
    ['error', 'list'],
    ['error', 'get', 'abcd000000000000'],
    ['op', 'list'],
    ['op', 'get', operation],
    ['op', 'jobs', operation],
    ['audit', 'list'],
    ['queue', 'list'],
    ['schedule', 'list'],
    ['schedule', 'get', 'hourly'],
  ]

  test('no command that lists or shows prints an escape sequence', async () => {
    for (const command of commands()) {
      const { stdout, stderr } = await runStint(command, db.url)
      expect(stdout + stderr, command.join(' ')).not.toMatch(steering)
      // The proof that the stored text was printed.
      expect(stdout, command.join(' ')).toContain('\\x1b[2J')
      const asJson = await runStint([...command, '-o', 'json'], db.url)
      expect(asJson.stdout, command.join(' ')).not.toMatch(steering)
      expect(JSON.stringify(JSON.parse(asJson.stdout)), command.join(' ')).toContain('\u202e')
    }
  })

  test('no error that repeats typed or stored text prints an escape sequence', async () => {
    for (const command of [
      [hostile],
      ['job', 'list', hostile],
      ['job', 'get', hostile],
      ['job', `--${hostile}`],
    ]) {
      const { stdout, stderr } = await runStint(command, db.url)
      expect(stdout + stderr).not.toMatch(steering)
    }
    const { stderr } = await runStint(['job', 'cancel', dead], db.url)
    expect(stderr).toContain('\\x1b[2J')
    expect(stderr).not.toMatch(steering)
  })

  test('the log of workers prints no escape sequence, and its lines stay apart', () => {
    for (const format of ['json', 'pretty']) {
      const lines: string[] = []
      const log = defaultLogger({ STINT_LOG: format }, { write: (line: string) => lines.push(line) })
      log.error({ kind: hostile, error: `${hostile}\n12:00:00.000 info  forged` }, hostile)
      expect(lines).toHaveLength(1)
      const [line = ''] = lines
      expect(line).not.toMatch(steering)
      expect(line).not.toMatch(/^12:00/m)
      if (format === 'json') expect(JSON.parse(line)).toMatchObject({ kind: hostile, msg: hostile })
    }
  })

  test("on a terminal with colours, only Stint's own colour sequences are printed", async () => {
    vi.resetModules()
    const { isTTY } = process.stdout
    process.stdout.isTTY = true
    vi.stubEnv('NO_COLOR', undefined).stubEnv('FORCE_COLOR', '1')
    try {
      const { paint, safe } = await import('../src/cli/output/format.ts')
      const red = paint({ text: hostile, style: 'red' })
      expect(red).toMatch(/^\u001b\[31mx\\x1b\[2J/)
      expect(safe(`${red} ${hostile}`).replaceAll('\u001b[31m', '').replaceAll('\u001b[39m', '')).not.toMatch(
        steering,
      )
      expect(safe(red)).toBe(red)
    } finally {
      process.stdout.isTTY = isTTY
      vi.unstubAllEnvs()
    }
  })
})
