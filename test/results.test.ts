import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { defineJob, Stint, typed } from '../src/index.ts'
import type { StintOptions } from '../src/index.ts'
import { PermanentError } from '../src/worker.ts'
import { startFaultProxy } from './support/fault-proxy.ts'
import { isOutOf } from './support/lane.ts'
import { gate, newJob, newName, startFor, workerScene } from './support/workers.ts'
import { straightWay } from './support/way.ts'

const scene = workerScene()

function open(options: StintOptions = {}): Stint {
  const stint = new Stint({ connection: scene.db.url, ...options })
  onTestFinished(() => stint.close())
  return stint
}

describe('result()', () => {
  test('the result of a job is returned when it has succeeded, with the type of its contract', async () => {
    const add = defineJob({
      kind: newName('add'),
      queue: newName('add'),
      input: typed<{ a: number; b: number }>(),
      output: typed<number>(),
    })
    await startFor(scene, add, (input) => {
      const { a, b } = input as { a: number; b: number }
      return a + b
    })
    const job = await scene.stint.enqueue(add, { a: 1, b: 2 })
    const sum: number = await job.result({ timeout: '20s' })
    expect(sum).toBe(3)
    expect(await scene.stint.result(job.id.toUpperCase())).toBe(3)
  })

  test('an enqueued job is written as JSON, spread and compared by its fields alone', async () => {
    const contract = newJob()
    const job = await scene.stint.enqueue(contract, null)
    const fields = { id: job.id, kind: 'job', queue: contract.queue, duplicate: false, replaced: false }
    expect(JSON.parse(JSON.stringify(job))).toEqual(fields)
    expect({ ...job }).toStrictEqual(fields)
    expect(job).toEqual(fields)
    const { jobs } = await scene.stint.enqueueMany(contract, [null])
    expect(Object.keys(jobs[0] ?? {})).toEqual(Object.keys(fields))
    expect(typeof jobs[0]?.result).toBe('function')
  })

  test('a job that died is reported with its stored error', async () => {
    const contract = newJob()
    await startFor(scene, contract, () => {
      throw new PermanentError('no such card')
    })
    const job = await scene.stint.enqueue(contract, null)
    await expect(job.result({ timeout: '20s' })).rejects.toMatchObject({
      code: 'job-dead',
      jobIds: [job.id],
      message: expect.stringContaining('PermanentError: no such card') as string,
      cause: { name: 'PermanentError', message: 'no such card', class: 'permanent' },
    })
  })

  test('a job that was cancelled is reported with the reason', async () => {
    const job = await scene.stint.enqueue(newJob(), null)
    const result = job.result({ timeout: '20s' })
    result.catch(() => undefined)
    await scene.stint.cancel(job.id, { reason: 'the customer left' })
    await expect(result).rejects.toMatchObject({
      code: 'job-cancelled',
      message: expect.stringContaining('the customer left') as string,
    })
  })

  test('a job that does not exist is reported at once', async () => {
    await expect(scene.stint.result(randomUUID())).rejects.toMatchObject({ code: 'job-not-found' })
  })

  test('a job that has not ended in time is reported with its state, and goes on', async () => {
    const job = await scene.stint.enqueue(newJob(), null)
    await expect(job.result({ timeout: 50 })).rejects.toMatchObject({
      code: 'result-timeout',
      current: 'ready',
      message: expect.stringMatching(/within 50 ms: it is ready/) as string,
    })
    expect(await scene.stint.get(job.id)).toMatchObject({ state: 'ready' })
  })

  test('a signal stops the wait with its reason', async () => {
    const job = await scene.stint.enqueue(newJob(), null)
    const stop = new AbortController()
    const result = job.result({ signal: stop.signal })
    const reason = new Error('the client has gone')
    stop.abort(reason)
    await expect(result).rejects.toBe(reason)
    await expect(job.result({ signal: stop.signal })).rejects.toBe(reason)
  })

  test.each([
    ['an id that is no UUID', 'x', {}, 'id'],
    ['an unknown option', randomUUID(), { timout: '1s' }, 'timout'],
    ['a timeout that is no duration', randomUUID(), { timeout: 'soon' }, 'timeout'],
    ['a timeout that no timer can wait for', randomUUID(), { timeout: '30d' }, 'timeout'],
    ['a signal that is none', randomUUID(), { signal: {} }, 'signal'],
  ])('%s is refused', async (_, id, options, path) => {
    await expect(scene.stint.result(id, options as never)).rejects.toMatchObject({
      code: 'invalid-option',
      issues: [expect.objectContaining({ path }) as object],
    })
  })

  test('a job of an open transaction is waited for until the commit, and then to its end', async () => {
    const contract = newJob()
    await startFor(scene, contract, () => 'stored and done')
    const client = new pg.Client(scene.db.url)
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('begin')
    const job = await scene.stint.enqueue(contract, null, { tx: client })
    const result = job.result({ timeout: '20s' })
    await expect(job.result({ timeout: 50 })).rejects.toMatchObject({
      code: 'result-timeout',
      message: expect.stringContaining('commit') as string,
    })
    await client.query('commit')
    expect(await result).toBe('stored and done')
  })

  test('closing the client ends its waits', async () => {
    const stint = new Stint({ connection: scene.db.url })
    const job = await stint.enqueue(newJob(), null)
    const result = job.result()
    result.catch(() => undefined)
    await stint.close()
    await expect(result).rejects.toMatchObject({ code: 'client-closed' })
    await expect(job.result()).rejects.toMatchObject({ code: 'client-closed' })
  })

  test('a lost reply of the database is asked for again', async () => {
    const proxy = await startFaultProxy(scene.db.url)
    const stint = open({ connection: proxy.url })
    const contract = newJob()
    const job = await stint.enqueue(contract, null)
    const cut = proxy.cutNext({ text: 'jobs/follow/look.sql', when: 'after' })
    const result = job.result({ timeout: '20s' })
    await cut
    await startFor(scene, contract, () => 'found')
    expect(await result).toBe('found')
  })
})

describe('how a result is found', () => {
  test('without NOTIFY, polling finds it', async () => {
    const contract = newJob()
    await startFor(scene, contract, () => 'polled', { notify: false })
    const job = await open({ notify: false }).enqueue(contract, null)
    expect(await job.result({ timeout: '20s' })).toBe('polled')
  })

  test('200 callers share the statements of one, and a client without callers sends none', async () => {
    const contract = newJob()
    const stint = open()
    const { jobs } = await stint.enqueueMany(
      contract,
      Array.from({ length: 200 }, (_, place) => place),
    )
    const spy = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => {
      spy.mockRestore()
    })
    const looks = (): number =>
      spy.mock.calls.filter((call) => JSON.stringify(call).includes('jobs/follow/look.sql')).length
    const results = jobs.map((job) => job.result({ timeout: '20s' }))
    // The first read has all callers; after that the poll reads them all.
    await expect.poll(looks).toBeGreaterThan(2)
    const startedAt = performance.now()
    const before = looks()
    await startFor(scene, contract, (input) => input)
    expect(await Promise.all(results)).toEqual(Array.from({ length: 200 }, (_, place) => place))
    // Workers name ends every 20 ms, and each may cause a read.
    expect(looks() - before).toBeLessThan(10 + (performance.now() - startedAt) / 10)
    spy.mockClear()
    await pause(700)
    expect(looks()).toBe(0)
  })

  test.skipIf(isOutOf('no-notify', 'polling finds results'))(
    'workers name the jobs that end only while callers wait, and then the result is there in milliseconds',
    async () => {
      const heard: string[] = []
      const listener = new pg.Client(straightWay(scene.db.url))
      await listener.connect()
      onTestFinished(() => listener.end())
      listener.on('notification', ({ payload = '' }) => heard.push(payload))
      await listener.query('listen stint_ended')
      const marked = async (text: string): Promise<void> => {
        await scene.db.query(`select pg_notify('stint_ended', $1)`, [text])
        await expect.poll(() => heard).toContain(text)
      }
      const contract = newJob()
      const quiet = newJob('quiet')
      const silent = await startFor(scene, quiet, () => undefined)
      const { jobs } = await scene.stint.enqueueMany(quiet, [1, 2, 3])
      for (const { id } of jobs) await silent.hears('succeeded', id)
      await silent.worker.stop()
      await marked('no caller has waited')
      const ofQuiet = heard.filter((payload) => jobs.some(({ id }) => payload.includes(id)))

      // The client has told workers before this one started: it must tell this one soon, and not in 5 s.
      const stint = open({ listenConnection: straightWay(scene.db.url) })
      const pending = await stint.enqueue(newJob(), null)
      await expect(pending.result({ timeout: 50 })).rejects.toMatchObject({ code: 'result-timeout' })
      // Longer than the first read, shorter than the first poll: only a notification can be in time.
      const worker = await startFor(scene, contract, () => pause(30, 'named'))
      let isNamedInTime = false
      for (let round = 0; round < 35 && !isNamedInTime; round++) {
        const job = await stint.enqueue(contract, null)
        const startedAt = performance.now()
        expect(await job.result({ timeout: '20s' })).toBe('named')
        const tookMs = performance.now() - startedAt
        isNamedInTime = tookMs < 90 && heard.some((payload) => payload.includes(job.id))
      }
      expect(isNamedInTime).toBe(true)
      await worker.worker.stop()
      // Other tests of this file may have waited before; a worker that started later has not heard them.
      expect(ofQuiet).toEqual([])
    },
  )

  test('texts of other logins on the channels change nothing', async () => {
    const contract = newJob()
    const opened = gate()
    await startFor(scene, contract, async () => {
      await opened.opened
      return 'unmoved'
    })
    const stint = open()
    const job = await stint.enqueue(contract, null)
    const result = job.result({ timeout: '20s' })
    const texts = ['', 'x', '{', '[]', 'null', '{"ended":{}}', '{"ended":[1,null]}', '{"waiting":false}']
    texts.push(JSON.stringify({ ended: [job.id] }), JSON.stringify({ ended: [randomUUID()] }))
    for (const channel of ['stint_ended', 'stint_ready'])
      for (const text of texts) await scene.db.query('select pg_notify($1, $2)', [channel, text])
    opened.open(undefined)
    expect(await result).toBe('unmoved')
  })
})
