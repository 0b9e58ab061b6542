import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { bury } from './support/dead-letters.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

function run(...args: string[]): Promise<CommandResult> {
  return runStint(args, db.url)
}

async function enqueue(queue: string, input: unknown = { to: 'ana' }): Promise<string> {
  return (await stint.enqueue(mail, input, { queue })).id
}

async function dead(queue: string): Promise<string> {
  const id = await enqueue(queue)
  await bury(db, id, {
    error: { name: 'Refused', message: 'by the bank\n\u001b[31m', stack: 'Refused: by the bank' },
  })
  return id
}

const unknownId = '01890000-0000-7000-8000-000000000000'

describe('stint status', () => {
  test('stint status shows queues and workers, and as JSON the result of the library', async () => {
    const queue = randomUUID()
    await enqueue(queue)
    await dead(queue)
    const { code, stdout, stderr } = await run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^schema at version \d+\n\nQUEUE +READY +OLDEST/)
    expect(stdout).toMatch(new RegExp(`${queue} +1 +\\S+ .*0 +0 +0 +0 +0 +1\n`))
    expect(stderr).toContain(`no live worker serves: `)
    const asJson = await run('status', '-o', 'json')
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      workers: [],
      schemaVersion: expect.any(Number) as number,
    })
  })
})

describe('stint job', () => {
  test('stint job list filters, pages, and gives ids to the next command', async () => {
    const queue = randomUUID()
    const ids = [await enqueue(queue), await enqueue(queue), await enqueue(queue)].reverse()
    const first = await run('job', 'list', '--queue', queue, '--limit', '2', '-o', 'id')
    expect(first).toMatchObject({ code: 0, stdout: `${ids.slice(0, 2).join('\n')}\n` })
    const [, cursor = ''] = /--cursor (\S+)/.exec(first.stderr) ?? []
    const rest = await run(
      'job',
      'list',
      '--queue',
      queue,
      '--state',
      'ready',
      '--cursor',
      cursor,
      '-o',
      'json',
    )
    expect(JSON.parse(rest.stdout)).toMatchObject({ jobs: [{ id: ids[2], state: 'ready', queue }] })
    const shown = await run('job', 'list', '--queue', queue, '--kind', 'mail.send', '--state', 'ready')
    expect(shown.stdout).toMatch(/^ID +STATE +QUEUE[^]*○ ready +[^]*0\/5 +for /)
    expect(await run('job', 'list', '--queue', 'none')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no jobs\n',
    })
  })

  test("stint job get shows a job's input, its attempts and its log", async () => {
    const id = await enqueue('mail', { to: 'ana', text: 'a\u001b[31m' })
    await db.query(
      `insert into stint.attempt (job_id, epoch, attempt, outcome, started_at, ended_at, error)
       values ($1, 1, 1, 'failed', now() - interval '2.1 s', now(), '{"name": "Refused", "message": "by the bank"}')`,
      [id],
    )
    await db.query(
      `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'warn', 'bank is \u001b[2Jslow', '{"ms": 12}')`,
      [id],
    )
    const { code, stdout } = await run('job', 'get', id)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^mail\.send {2}○ ready/)
    expect(stdout).toContain('"to": "ana"')
    expect(stdout).toMatch(/1 +1 +failed +2\.1s +\S+ ago +Refused: by the bank/)
    expect(stdout).toMatch(/warn +bank is \\x1b\[2Jslow +\{"ms":12\}/)
    expect(stdout).not.toContain('\u001b')
    const asJson = await run('job', 'get', id, '-o', 'json')
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      id,
      state: 'ready',
      input: { to: 'ana' },
      createdAt: expect.stringMatching(/Z$/) as string,
      attempts: [{ outcome: 'failed' }],
      logs: [{ level: 'warn' }],
    })
  })

  test('stint job cancel cancels jobs, and says for each why it could not', async () => {
    const id = await enqueue('mail')
    expect(await run('job', 'cancel', id, '--dry-run')).toMatchObject({
      code: 0,
      stderr: 'would be cancelled: 1 of 1\n',
    })
    expect(await stint.get(id)).toMatchObject({ state: 'ready' })
    expect(await run('job', 'cancel', id, '--reason', 'customer left')).toMatchObject({ code: 0 })
    expect(await stint.get(id)).toMatchObject({ state: 'cancelled', reason: 'customer left' })
    const gone = await dead('mail')
    expect(await run('job', 'cancel', gone)).toMatchObject({ code: 4 })
    expect(await run('job', 'cancel', gone, '--dry-run')).toMatchObject({ code: 4 })
    expect(await run('job', 'cancel', unknownId)).toMatchObject({ code: 3 })
    expect(await run('job', 'cancel', unknownId, await enqueue('mail'))).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/\(job-not-found\)\ncancelled: 1 of 2/) as string,
    })
  })
})

describe('stint dead', () => {
  test('stint dead list and get show why a job died, and hostile text controls no terminal', async () => {
    const queue = randomUUID()
    const id = await dead(queue)
    const listed = await run('dead', 'list', '--queue', queue, '--reason', 'exhausted')
    expect(listed.stdout).toMatch(/exhausted +5\/5 +\S+ ago +Refused: by the bank \\x1b\[31m\n$/)
    const shown = await run('dead', 'get', id)
    expect(shown.stdout).toMatch(/^mail\.send {2}✖ dead \(exhausted\)[^]*error\n {2}Refused: by the bank/)
    expect(JSON.parse((await run('dead', 'get', id, '-o', 'json')).stdout)).toMatchObject({
      id,
      reason: 'exhausted',
      attempts: [{ outcome: 'failed' }],
    })
    expect(await run('dead', 'get', unknownId)).toMatchObject({ code: 3 })
    expect(await run('dead', 'get', await enqueue(queue))).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('is ready, so it is not a dead letter') as string,
    })
  })

  test('stint dead replay, discard and restore act on each given id', async () => {
    const queue = randomUUID()
    const [one, two] = [await dead(queue), await dead(queue)]
    expect(await run('dead', 'discard', one)).toMatchObject({ code: 0 })
    expect(await run('dead', 'replay', one)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('restore it first') as string,
    })
    expect(await run('dead', 'replay', one, '--dry-run')).toMatchObject({ code: 4 })
    expect((await run('dead', 'list', '--queue', queue, '--discarded', '-o', 'id')).stdout).toBe(`${one}\n`)
    expect(await run('dead', 'restore', one)).toMatchObject({ code: 0 })
    const rehearsed = await run('dead', 'replay', one, two, '--dry-run', '-o', 'id')
    expect(rehearsed).toMatchObject({ code: 0, stdout: `${one}\n${two}\n` })
    const replayed = await run('dead', 'replay', one, two, '--delay', '5m', '-o', 'json')
    expect(replayed.code).toBe(0)
    expect(JSON.parse(replayed.stdout)).toMatchObject([
      { id: one, state: 'scheduled', maxAttempts: 10 },
      { id: two, state: 'scheduled' },
    ])
    expect(await run('dead', 'replay', one)).toMatchObject({ code: 4, stdout: '' })
  })
})

describe('usage errors', () => {
  // These need no database: in parallel they wait less for each other's processes to start.
  test.concurrent.each([
    [['jobs'], 'Did you mean job?'],
    [['job'], 'list, get, why, why-twice, steps, signal, resume, cancel'],
    [['job', 'lst'], 'Did you mean list?'],
    [['job', 'list', '--quue', 'x'], 'Did you mean --queue?'],
    [['job', 'list', '--state', 'reddy'], 'Did you mean ready?'],
    [['job', 'list', 'extra'], `Unexpected argument 'extra'`],
    [['job', 'list', '--limit', 'ten'], 'whole number'],
    [['job', 'list', '--limit', '999'], 'limit'],
    [['job', 'list', '-o', 'yaml'], 'table, json, id'],
    [['job', 'get'], 'one or more job ids'],
    [['job', 'get', '01a1e0a0'], 'whole UUID'],
    [['dead', 'replay'], 'one or more job ids'],
    [['dead', 'replay', unknownId, '--delay', 'soon'], '--delay'],
    [['dead', 'list', '--reason', 'bored'], 'exhausted'],
    [['status', '-o', 'id'], 'table, json'],
  ])('stint %j says what is right, and exits with 2', async (args, said) => {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(said)
  })

  let allHelp: Promise<CommandResult> | undefined
  test.concurrent.each([
    [['status']],
    [['job', 'list']],
    [['job', 'get']],
    [['job', 'cancel']],
    [['dead', 'list']],
    [['dead', 'get']],
    [['dead', 'replay']],
    [['dead', 'discard']],
    [['dead', 'restore']],
    [['work']],
    [['dev']],
    [['migrate']],
  ])('stint %j --help has two examples', async (args) => {
    const { code, stdout } = await run(...args, '--help')
    expect(code).toBe(0)
    const [, examples = ''] = stdout.split('Examples\n')
    expect(examples.trim().split('\n').length).toBeGreaterThanOrEqual(2)
    allHelp ??= run('--help')
    expect((await allHelp).stdout).toContain(`stint ${args.join(' ')}`)
  })
})
