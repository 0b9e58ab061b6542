import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { Worker } from '../src/worker.ts'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'

const resize = defineJob({ kind: 'image.resize.and.store.in.the.archive', queue: 'media-of-the-archive' })
const long = 'a text that goes on and on, as keys and messages of errors may do, for more than any line'

let db: TestDatabase
let stint: Stint
let id: string
let dead: string
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  id = (await stint.enqueue(resize, {}, { key: long })).id
  dead = (await stint.enqueue(resize, {}, { key: long })).id
  const error = { name: 'Refused', message: long }
  await bury(db, dead, { fingerprint: 'abcd111111111111', error })
  for (const fingerprint of ['abcd111111111111', 'abce111111111111', 'abce222222222222'])
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, versions, sample_job)
       values ($1, 'image.resize.and.store', 'error', 'Refused', $2, $2, now(), now(), '{"v1.0.0": "2026"}', gen_random_uuid())`,
      [fingerprint, long],
    )
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

function run(...args: string[]): Promise<CommandResult> {
  return runStint(args, db.url)
}

describe('the command line', () => {
  test('stint error takes the beginning of a fingerprint, as stint dead replay does', async () => {
    expect(await run('error', 'get', 'abcd', '-o', 'id')).toMatchObject({
      code: 0,
      stdout: 'abcd111111111111\n',
    })
    expect(await run('error', 'ignore', 'abcd1', '-o', 'id')).toMatchObject({
      code: 0,
      stdout: 'abcd111111111111\n',
    })
    expect((await run('error', 'reopen', 'abcd111111111111')).code).toBe(0)
    expect(await run('error', 'get', 'abce')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('abce111111111111, abce222222222222') as string,
    })
    expect((await run('error', 'get', 'abcf')).code).toBe(3)
  })

  test('stint console on a used port says so in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    expect(await run('console', '--port', String(port))).toMatchObject({
      code: 1,
      stderr: `stint: Port ${port} of 127.0.0.1 is in use by another process. Stop that process, or choose another port.\n`,
    })
    expect((await run('console', '--host', 'no.such.host.invalid', '--insecure')).stderr).not.toContain(
      ' at ',
    )
  })

  test.each([80, 140])(
    'no table is wider than a terminal of %i columns, and ids are whole',
    async (columns) => {
      const { isTTY, columns: before } = process.stdout
      Object.assign(process.stdout, { isTTY: true, columns })
      onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns: before }))
      await db.query(
        `insert into stint.worker (id, lease_until, about) values (gen_random_uuid(), now() + interval '1 hour', $1)`,
        [
          JSON.stringify({
            host: 'worker-7f9c6d5b4-x2x9z',
            pid: 1,
            version: 'v1.0.0',
            queues: { [resize.queue]: 10, mail: 5 },
          }),
        ],
      )
      await db.query(
        `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, succeeded, wait, run)
       values (date_trunc('minute', now()), $1, $2, gen_random_uuid(), 1, 1200, 990, '{"160": 1000}', '{"140": 1000}')`,
        [resize.queue, resize.kind],
      )
      const audit = stint.as({ actor: 'ana@example.com' })
      await audit.reprioritize(id, { priority: 3, reason: long })
      await stint.operations.start({ action: 'cancel', where: 'queue:none', reason: long })
      await stint.schedules.set({ name: 'every-hour-of-the-day', job: resize, every: '1h', input: {} })
      for (const command of [
        ['status'],
        ['stats'],
        ['job', 'list'],
        ['job', 'get', dead],
        ['dead', 'list'],
        ['dead', 'groups'],
        ['error', 'list'],
        ['op', 'list'],
        ['audit', 'list'],
        ['queue', 'list'],
        ['schedule', 'list'],
        ['migrate', 'status'],
      ]) {
        const { stdout } = await run(...command)
        // Key-value lines are not a table.
        const lines = stdout.slice(Math.max(0, stdout.indexOf('attempts\n'))).split('\n')
        for (const line of lines)
          expect(line.length, `${command.join(' ')}: ${line}`).toBeLessThanOrEqual(columns)
        if (command[1] === 'list' && command[0] === 'job') expect(stdout).toContain(id)
      }
    },
  )
})

describe('an invalid contract', () => {
  const wrong: unknown[] = ['mail.send', {}, undefined, null, { kind: 'mail.send' }, 7]
  const refused = { code: 'invalid-option', message: expect.stringContaining('defineJob()') as string }

  test('every call that takes a contract refuses an invalid one with a typed error', async () => {
    for (const contract of wrong as (typeof resize)[]) {
      await expect(stint.enqueue(contract, {})).rejects.toMatchObject(refused)
      await expect(stint.enqueueMany(contract, [{}])).rejects.toMatchObject(refused)
      await expect(stint.enqueueMany(contract, [])).rejects.toMatchObject(refused)
      await expect(stint.update(contract, id, {})).rejects.toMatchObject(refused)
      expect(() => new Worker().handle(contract, () => undefined)).toThrow(expect.objectContaining(refused))
    }
    expect(await stint.enqueue('mail.send' as unknown as typeof resize, {}).catch(String)).toContain(
      `defineJob({ kind: 'mail.send' })`,
    )
  })

  test('a contract of another kind changes no job', async () => {
    const other = defineJob({ kind: 'mail.send' })
    await expect(stint.update(other, id, {})).rejects.toMatchObject({
      code: 'contract-mismatch',
      jobIds: [id],
    })
  })

  test.each([undefined, null, 7, 'abc', {}])(
    'inputs that are %j are refused with a typed error',
    async (inputs) => {
      await expect(stint.enqueueMany(resize, inputs as never)).rejects.toMatchObject({
        code: 'invalid-option',
      })
    },
  )

  test.each([[null], [7], ['abc'], [[]]])(
    'options that are %j are refused with a typed error',
    async (options) => {
      await expect(stint.enqueue(resize, {}, options as never)).rejects.toMatchObject({
        code: 'invalid-option',
      })
      await expect(stint.enqueueMany(resize, [{}], options as never)).rejects.toMatchObject({
        code: 'invalid-option',
      })
    },
  )
})

describe('a database that cannot be reached', () => {
  const wrongPassword = (): string => db.url.replace(/:[^:@]*@/, ':wrong@')

  test.each([
    ['a wrong password', wrongPassword, /refuses the password of 'app' .*DATABASE_URL/],
    [
      'a refused connection',
      () => 'postgres://ana@localhost:1/app',
      /nothing listens at localhost:1 .*start PostgreSQL/,
    ],
    [
      'an unknown host',
      () => 'postgres://ana@no-such-host.invalid/app',
      /host name of no-such-host.invalid:5432 is not known/,
    ],
    [
      'an unknown database',
      () => db.url.replace(/[^/]+$/, 'no_such'),
      /has no database 'no_such'; create it/,
    ],
  ])('%s is reported within 2 s, with what to do', async (_what, url, message) => {
    const startedAt = performance.now()
    const client = new Stint({ connection: url() })
    await expect(client.enqueue(resize, {})).rejects.toThrow(message)
    await client.close()
    expect(performance.now() - startedAt).toBeLessThan(2_500)
    const { code, stderr } = await runStint(['status', '--database-url', url()])
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(message) as string })
    expect((await runStint(['migrate', '--database-url', url()])).stderr).toMatch(message)
    expect(stderr).not.toContain('wrong@')
  })

  test('a worker that starts without its database waits for it, with readiness red and the cause', async () => {
    const { hostname, port } = new URL(db.url)
    const proxy = createServer((socket) => {
      const server = connect(Number(port), hostname)
      socket.on('error', () => server.destroy()).pipe(server)
      server.on('error', () => socket.destroy()).pipe(socket)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port: own } = proxy.address() as AddressInfo
    proxy.close()
    const connection = Object.assign(new URL(db.url), { host: `127.0.0.1:${own}` }).href
    const lines: string[] = []
    const write = (_fields: object, message: string): void => void lines.push(message)
    const log = { debug: write, info: write, warn: write, error: write }
    const worker = new Worker({ connection, log, health: { port: 0 }, queues: { 'media-of-the-archive': 1 } })
    worker.handle(resize, () => undefined)
    const started = worker.start()
    onTestFinished(() => worker.stop())
    const probe = async (path: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${worker.healthPort ?? 0}/${path}`)
      return `${response.status} ${await response.text()}`
    }
    await expect
      .poll(() => lines)
      .toContainEqual(expect.stringMatching('cannot be reached; trying for another'))
    expect(await probe('readyz')).toMatch(/^503 .*nothing listens at/)
    expect(await probe('healthz')).toMatch(/^200/)
    proxy.listen(own, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await started
    expect(await probe('readyz')).toMatch(/^200/)
  })

  test('a worker waits for its database no longer than waitForDatabase, and not after a stop', async () => {
    const options = { connection: 'postgres://ana@127.0.0.1:1/app', log: false } as const
    const hasty = new Worker({ ...options, waitForDatabase: 0 })
    hasty.handle(resize, () => undefined)
    await expect(hasty.start()).rejects.toMatchObject({ code: 'database-unavailable' })
    const stopped = new Worker(options)
    stopped.handle(resize, () => undefined)
    const running = stopped.run()
    await stopped.stop()
    await running
  })
})

describe('messages', () => {
  test('stint help NOUN prints the help of the noun, and with a verb that of the verb', async () => {
    expect((await run('help', 'job')).stdout).toBe((await run('job', '--help')).stdout)
    expect((await run('help', 'job', 'list')).stdout).toBe((await run('job', 'list', '--help')).stdout)
    expect(await run('help', 'jib')).toMatchObject({ code: 2 })
  })

  test('the error for a much too large input has its size, the limit and the way out', async () => {
    const text = 'x'.repeat(2_000_000)
    await expect(stint.enqueue(resize, { text })).rejects.toThrow(
      /more than 2,000,0\d\d characters of JSON, at most 262,144 bytes fit\. Store it elsewhere.*blobs/,
    )
  })

  test('the error of an enqueue that failed in a shared statement has the stack of its caller', async () => {
    const client = new Stint({ connection: db.url, schema: 'no_such_schema' })
    onTestFinished(() => client.close())
    async function enqueueFromHere(): Promise<string> {
      try {
        await client.enqueue(resize, {})
        return ''
      } catch (error) {
        return (error as Error).stack ?? ''
      }
    }
    expect(await enqueueFromHere()).toContain('enqueueFromHere')
  })

  test('no message ends with two full stops', async () => {
    const strict = defineJob({
      kind: 'strict',
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => ({ issues: [{ message: 'must be nice.' }] }),
        },
      },
    })
    await expect(stint.enqueue(strict, {})).rejects.toThrow('input must be nice. It was not stored.')
  })
})
