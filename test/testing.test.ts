import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineLimit, isStintError } from '../src/index.ts'
import type { StintError } from '../src/index.ts'
import { TestServer } from '../src/testing/server.ts'
import { testStint } from '../src/testing.ts'
import type { TestStint, TestStintOptions } from '../src/testing.ts'
import { CancelJob, defineSchedule, PermanentError, Snooze } from '../src/worker.ts'
import { connectTo } from './support/database.ts'
import { finish } from './support/processes.ts'
import type { Finished } from './support/processes.ts'
import { repository } from './support/worker-process.ts'

const serverUrl = inject('serverUrl')

async function open(options: TestStintOptions = {}): Promise<TestStint> {
  const t = await testStint({ connection: serverUrl, ...options })
  onTestFinished(() => t.close())
  return t
}

async function databases(like: string): Promise<string[]> {
  const client = await connectTo(serverUrl)
  const { rows } = await client.query<{ datname: string }>(
    'select datname from pg_database where datname like $1 order by datname',
    [like],
  )
  return rows.map(({ datname }) => datname)
}

const greet = defineJob({
  kind: 'greet',
  input: z.object({ name: z.string(), tags: z.array(z.string()).optional() }),
})
const flaky = defineJob({ kind: 'flaky', retry: { attempts: 3, backoff: ['1m'] } })
const report = defineJob({ kind: 'report', queue: 'reports', input: z.object({ month: z.string() }) })

const nothing = { succeeded: 0, retrying: 0, dead: 0, cancelled: 0, scheduled: 0, waiting: 0, ready: 0 }

/** Runs a program in which `stint` is this package, in a process of its own. */
async function runProgram(name: string, code: string, ...flags: string[]): Promise<Finished> {
  const folder = join(repository, '.stint/testing-programs', randomUUID())
  await mkdir(folder, { recursive: true })
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, name)
  await writeFile(file, code)
  const env = { ...process.env, DATABASE_URL: serverUrl, NODE_TEST_CONTEXT: undefined }
  return finish(process.execPath, ['--import', 'tsx', ...flags, file], { cwd: repository, env })
}

test('the program of the guide runs', async () => {
  const page = await readFile(join(repository, 'docs/guides/testing.md'), 'utf8')
  const [, code = ''] = /```ts\n([^]*?)```/.exec(page) ?? []
  const { code: exit, stdout } = await runProgram('mail.test.ts', code, '--test')
  expect(stdout).toMatch(/pass 1\n/)
  expect(exit).toBe(0)
})

test('a process in which nothing else happens waits for its drains, and then ends', async () => {
  const { code, stdout } = await runProgram(
    'drains.mts',
    `import { defineJob } from 'stint'
     import { testStint } from 'stint/testing'
     const empty = defineJob({ kind: 'empty' })
     const t = await testStint({ handlers: (worker) => worker.handle(empty, () => undefined) })
     for (let drains = 1; drains <= 30; drains++) await t.drain()
     await t.close()
     console.log('done')`,
  )
  // 13: the event loop was empty before an awaited promise was settled.
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' })
})

describe('drain()', () => {
  test('runs ready jobs one after the other, and those that they enqueue, also into other queues', async () => {
    const ran: string[] = []
    let atOnce = 0
    const t = await open({
      handlers: (worker) =>
        worker
          .handle(greet, async ({ name }, ctx) => {
            expect(++atOnce).toBe(1)
            ran.push(name)
            if (name === 'ana') {
              await ctx.enqueue(report, { month: 'may' })
              await t.stint.enqueue(report, { month: 'june' }, { queue: 'elsewhere' })
            }
            atOnce--
          })
          .handle(report, ({ month }) => void ran.push(month)),
    })
    await t.stint.enqueueMany(greet, [{ name: 'ana' }, { name: 'bo' }, { name: 'cy' }])
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 5 })
    expect(ran.filter((one) => !['may', 'june'].includes(one))).toEqual(['ana', 'bo', 'cy'])
    expect(ran.slice(1).sort()).toEqual(['bo', 'cy', 'june', 'may'])
    expect(await t.drain()).toEqual(nothing)
  })

  test('counts jobs by the state that they are in afterwards', async () => {
    const end = defineJob({ kind: 'end', input: z.enum(['well', 'fail', 'die', 'cancel', 'snooze']) })
    const t = await open({
      handlers: (worker) =>
        worker.handle(end, (how) => {
          if (how === 'fail') throw new Error('not now')
          if (how === 'die') throw new PermanentError('never')
          if (how === 'cancel') throw new CancelJob('no need')
          if (how === 'snooze') throw new Snooze('1h')
        }),
    })
    await t.stint.enqueueMany(end, ['well', 'well', 'fail', 'die', 'cancel', 'snooze'])
    await t.stint.enqueue(end, 'well', { delay: '1d' })
    expect(await t.drain()).toEqual({
      ...nothing,
      ...{ succeeded: 2, retrying: 1, dead: 1, cancelled: 1, scheduled: 1 },
    })
  })

  test('leaves jobs that cannot run here, and says how many', async () => {
    const t = await open({ handlers: (worker) => worker.handle(greet, () => undefined) })
    await t.stint.enqueue(report, { month: 'may' })
    await t.stint.enqueue(greet, { name: 'ana' })
    await t.stint.queues.pause('default', { reason: 'a test' })
    expect(await t.drain()).toEqual({ ...nothing, ready: 2 })
    await t.stint.queues.resume('default')
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 1, ready: 1 })
  })

  test('starts no more jobs than `limit`, of no other queues than `queues`', async () => {
    const t = await open({
      handlers: (worker) => worker.handle(greet, () => undefined).handle(report, () => undefined),
    })
    await t.stint.enqueueMany(greet, [{ name: 'ana' }, { name: 'bo' }, { name: 'cy' }])
    await t.stint.enqueue(report, { month: 'may' })
    expect(await t.drain({ queues: ['default'], limit: 2 })).toEqual({ ...nothing, succeeded: 2, ready: 1 })
    expect(await t.drain({ queues: ['reports'] })).toEqual({ ...nothing, succeeded: 1 })
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 1 })
  })

  test('runs jobs with keys under a limit, batches, and isolated handlers in this process', async () => {
    const call = defineJob({
      kind: 'call',
      queue: 'calls',
      key: ({ to }) => to,
      input: z.object({ to: z.string() }),
    })
    const rows = defineJob({ kind: 'rows', queue: 'rows', input: z.number() })
    const sizes: number[] = []
    const pids: number[] = []
    const t = await open({
      worker: { flow: [defineLimit({ name: 'calls', covers: [{ queue: 'calls' }], by: 'key', max: 1 })] },
      handlers: (worker) =>
        worker
          .handle(call, () => undefined)
          .handleBatch(rows, async (jobs) => void sizes.push(await Promise.resolve(jobs.length)))
          .handle(report, () => void pids.push(process.pid), { isolate: 'process' }),
    })
    await t.stint.enqueueMany(
      call,
      ['ana', 'bo', 'ana', 'bo', 'ana'].map((to) => ({ to })),
    )
    await t.stint.enqueueMany(rows, [1, 2, 3])
    await t.stint.enqueue(report, { month: 'may' })
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 9 })
    expect(sizes).toEqual([3])
    expect(pids).toEqual([process.pid])
  })

  test('names the job whose handler does not end', async () => {
    let isOver = false
    const t = await open({
      worker: { stuck: { grace: '10ms' } },
      handlers: (worker) =>
        worker.handle(
          greet,
          (_input, ctx) =>
            new Promise<void>((resolve) => {
              ctx.signal.addEventListener('abort', () => {
                isOver = true
                resolve()
              })
            }),
        ),
    })
    const { id } = await t.stint.enqueue(greet, { name: 'ana' })
    const error = await t.drain({ timeout: '2s' }).catch((thrown: unknown) => thrown)
    expect(isStintError(error, 'drain-timeout') && error.message).toMatch(
      `drain() was not done after 2000 ms. Still running: 'greet' (${id})`,
    )
    expect((error as StintError).jobIds).toEqual([id])
    expect(isOver).toBe(true)
  })

  test('ends with an error when a job without a delay keeps coming', async () => {
    const t = await open({
      handlers: (worker) =>
        worker.handle(flaky, async (_input, ctx) => {
          await ctx.enqueue(flaky)
        }),
    })
    await t.stint.enqueue(flaky)
    await expect(t.drain({ timeout: '300ms' })).rejects.toThrow(/drain\(\) was not done after 300 ms/)
    expect(await t.drain({ limit: 2 })).toEqual({ ...nothing, succeeded: 2, ready: 1 })
  })

  test('reports why jobs could not be claimed', async () => {
    const t = await open({ handlers: (worker) => worker.handle(greet, () => undefined) })
    await t.stint.enqueue(greet, { name: 'ana' })
    const client = await connectTo(t.url)
    await client.query(`create function refuse() returns trigger language plpgsql
                        as $$ begin raise exception 'not today'; end $$`)
    await client.query(
      'create trigger refuse before update on stint.job for each row execute function refuse()',
    )
    await expect(t.drain()).rejects.toThrow(/drain\(\) left 1 ready jobs.*not today/)
  })

  test('refuses wrong options, and a test without handlers', async () => {
    const t = await open()
    await expect(t.drain()).rejects.toThrow(/drain\(\) has no handlers/)
    await expect(testStint({ handler: () => undefined } as object)).rejects.toThrow(
      'Did you mean `handlers`?',
    )
    await expect(testStint({ worker: { concurrency: 2 } as object })).rejects.toThrow(
      'Expected `worker.concurrency` to be left out: drain() decides it, got 2.',
    )
    await expect(open({ now: 'today' as unknown as Date })).rejects.toThrow('to be a valid Date')
    await expect(t.drain({ queues: [] })).rejects.toThrow(
      'Expected `queues` to be a list of at least one queue',
    )
    await expect(t.drain({ limit: 0 })).rejects.toThrow('Expected `limit` to be an integer from 1 up')
    await expect(t.drain({ queue: 'mail' } as object)).rejects.toThrow('Did you mean `queues`?')
  })
})

describe('the clock', () => {
  test('stands still until it is moved, and then makes jobs and retries due', async () => {
    const attempts: number[] = []
    const t = await open({
      handlers: (worker) =>
        worker
          .handle(greet, () => undefined)
          .handle(flaky, (_input, ctx) => {
            attempts.push(ctx.attempt)
            throw new Error('not now')
          }),
    })
    const before = await t.clock.now()
    await t.stint.enqueue(greet, { name: 'ana' }, { delay: '1ms' })
    const { id } = await t.stint.enqueue(flaky)
    expect(await t.drain()).toEqual({ ...nothing, retrying: 1 })
    expect(await t.clock.now()).toEqual(before)
    expect(await t.clock.advance('2ms')).toEqual(new Date(before.getTime() + 2))
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 1 })
    await t.clock.advance('2m')
    expect(await t.drain()).toEqual({ ...nothing, retrying: 1 })
    await t.clock.set(new Date(before.getTime() + 86_400_000))
    expect(await t.drain()).toEqual({ ...nothing, dead: 1 })
    expect(attempts).toEqual([1, 2, 3])
    expect(await t.job(id)).toMatchObject({ state: 'dead' })
    await expect(t.clock.advance('soon')).rejects.toThrow('Expected `by` to be a duration')
    await expect(t.clock.set(new Date('soon'))).rejects.toThrow('Expected `at` to be a valid Date')
  })

  test('makes schedules fire', async () => {
    const months: string[] = []
    const monthly = defineSchedule({
      name: 'monthly',
      job: report,
      cron: '0 2 1 * *',
      timeZone: 'UTC',
      input: (fireAt) => ({ month: fireAt.toISOString().slice(0, 7) }),
    })
    const t = await open({
      now: new Date('2027-05-31T23:00:00Z'),
      handlers: (worker) => worker.handle(report, ({ month }) => void months.push(month)).schedule(monthly),
    })
    expect(await t.drain()).toEqual(nothing)
    for (const fireAt of ['2027-06-01T02:00:00Z', '2027-07-01T02:00:00Z']) {
      await t.clock.set(new Date(fireAt))
      expect(await t.drain()).toEqual({ ...nothing, succeeded: 1 })
    }
    expect(months).toEqual(['2027-06', '2027-07'])
  })

  test('ends the lease of a worker that is gone: its job runs again', async () => {
    const t = await open({ handlers: (worker) => worker.handle(greet, () => undefined) })
    const { id } = await t.stint.enqueue(greet, { name: 'ana' })
    const client = await connectTo(t.url)
    const worker = randomUUID()
    await client.query(
      `insert into stint.worker (id, lease_until, about) values ($1, stint.now() + interval '30 seconds', '{}')`,
      [worker],
    )
    await client.query(
      `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), epoch = 1, attempt = 1,
              started_at = stint.now() where id = $1`,
      [id, worker],
    )
    expect(await t.drain()).toEqual(nothing)
    await t.clock.advance('31s')
    expect(await t.drain()).toEqual({ ...nothing, succeeded: 1 })
    expect(await t.job(id)).toMatchObject({ state: 'succeeded', epoch: 2 })
  })

  test('lets retention remove old jobs; enqueued() still has them', async () => {
    const t = await open({ handlers: (worker) => worker.handle(greet, () => undefined) })
    const { id } = await t.stint.enqueue(greet, { name: 'ana' })
    await t.drain()
    expect(await t.job(id)).toMatchObject({ state: 'succeeded' })
    await t.clock.advance('30d')
    await t.drain()
    expect(await t.job(id)).toBeUndefined()
    expect(await t.enqueued(greet)).toMatchObject([{ id, input: { name: 'ana' } }])
  })
})

describe('expectEnqueued()', () => {
  test('compares the fields that are given, and counts', async () => {
    const t = await open()
    await t.stint.enqueue(greet, { name: 'ana', tags: ['a', 'b'] })
    await t.stint.enqueue(greet, { name: 'bo' }, { queue: 'vip', priority: 5 })
    await t.expectEnqueued(greet)
    await t.expectEnqueued(greet, undefined, { times: 2 })
    await t.expectEnqueued(greet, { name: 'ana' }, { times: 1 })
    await t.expectEnqueued(greet, { tags: ['a', 'b'] }, { times: 1, queue: 'default' })
    await t.expectEnqueued(greet, {}, { times: 1, queue: 'vip', priority: 5 })
    await t.expectEnqueued(greet, { tags: ['a'] }, { times: 0 })
    await t.expectEnqueued(report, { month: 'may' }, { times: 0 })
    expect(await t.enqueued(greet)).toMatchObject([{ input: { name: 'ana' } }, { queue: 'vip', priority: 5 }])
    expect(await t.enqueued(report)).toEqual([])
  })

  test('fails with a list of what was enqueued', async () => {
    const t = await open()
    await expect(t.expectEnqueued(greet)).rejects.toThrow(
      `Expected a job 'greet' to be enqueued, but none was.\nNothing was enqueued.`,
    )
    await t.stint.enqueue(report, { month: 'may' })
    await t.stint.enqueue(greet, { name: 'bo' }, { key: 'k' })
    await expect(t.expectEnqueued(greet, { name: 'ana' }, { queue: 'vip' })).rejects.toThrow(
      [
        `Expected a job 'greet' with {"name":"ana"}, queue "vip" to be enqueued, but none was.`,
        'Enqueued:',
        `  greet {"name":"bo"} in queue 'default', key 'k'`,
        `  report {"month":"may"} in queue 'reports'`,
      ].join('\n'),
    )
    await expect(t.expectEnqueued(greet, { name: 'bo' }, { times: 2 })).rejects.toMatchObject({
      code: 'ERR_ASSERTION',
      actual: 1,
      expected: 2,
      message: expect.stringContaining('to be enqueued 2 times, but 1 was.') as string,
    })
  })
})

describe('the database', () => {
  test('belongs to one test, and is dropped when the test closes it', async () => {
    const [one, other] = await Promise.all([open(), open()])
    await one.stint.enqueue(greet, { name: 'ana' })
    expect(await other.enqueued(greet)).toEqual([])
    const name = new URL(one.url).pathname.slice(1)
    expect(await databases(name)).toEqual([name])
    await one[Symbol.asyncDispose]()
    await one.close()
    expect(await databases(name)).toEqual([])
  })

  test('processes that need a template at once make one, and remove older ones', async () => {
    const admin = await connectTo(serverUrl)
    for (const name of await databases('stint_test_template_%')) await admin.query(`drop database ${name}`)
    await admin.query('create database stint_test_template_v1_old')
    const killed = `stint_test_${(Date.now() - 86_400_000).toString(36)}_abcd`
    await admin.query(`create database ${killed}`)
    // Each has sessions of its own, like a process.
    const servers = Array.from({ length: 4 }, () => new TestServer(serverUrl))
    const urls = await Promise.all(servers.map((server) => server.create()))
    expect(await databases('stint_test_template_%')).toHaveLength(1)
    expect(await databases(killed)).toEqual([])
    await Promise.all(servers.map((server, index) => server.drop(urls[index] ?? '')))
  })

  test('a template that another process removed is made again', async () => {
    const server = new TestServer(serverUrl)
    const first = await server.create()
    const admin = await connectTo(serverUrl)
    for (const name of await databases('stint_test_template_%')) await admin.query(`drop database ${name}`)
    const second = await server.create()
    await Promise.all([first, second].map((url) => server.drop(url)))
  })

  test('a login that may not create databases is told so', async () => {
    const admin = await connectTo(serverUrl)
    const login = `test_login_${randomUUID().slice(0, 8)}`
    await admin.query(`create role ${login} login password 'secret'`)
    onTestFinished(async () => {
      await admin.query(`drop role ${login}`)
    })
    const url = new URL(serverUrl)
    url.username = login
    url.password = 'secret'
    const error = await testStint({ connection: url.href }).catch((thrown: unknown) => thrown)
    expect(isStintError(error, 'database-rejected') && error.message).toMatch(/Grant it CREATEDB/)
  })
})
