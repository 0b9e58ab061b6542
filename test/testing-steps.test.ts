import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { defineJob, defineSignal, typed } from '../src/index.ts'
import { testStint } from '../src/testing.ts'
import type { BoundaryEnd, TestStint, TestStintOptions } from '../src/testing.ts'
import { connectTo } from './support/database.ts'

async function open(options: TestStintOptions): Promise<TestStint> {
  const t = await testStint({ connection: inject('serverUrl'), ...options })
  onTestFinished(() => t.close())
  return t
}

const report = defineJob({
  kind: 'report',
  input: typed<{ month: string }>(),
  retry: { attempts: 3, backoff: ['1m'] },
})
const mail = defineJob({ kind: 'mail', queue: 'mails', input: typed<{ to: string }>() })
const approved = defineSignal({ name: 'approved', payload: typed<{ by: string }>() })

describe('mockStep()', () => {
  test('a mocked step does not call its function, and its result is recorded as usual', async () => {
    const seen: unknown[] = []
    const t = await open({
      handlers: (worker) =>
        worker.handle(report, async (_input, ctx) => {
          const orders = await ctx.step('load', () =>
            Promise.reject<number>(new Error('no network in tests')),
          )
          const rows = await ctx.stepTx('store', () => Promise.reject<number>(new Error('no table in tests')))
          seen.push([orders, rows])
          if (ctx.fence.epoch === 1) throw new Error('once more')
          return { orders, rows }
        }),
    })
    const keys: unknown[] = []
    t.mockStep(report, 'load', (step: { name: string; idempotencyKey: string }) => {
      keys.push(step.idempotencyKey)
      return { at: new Date(0) }
    })
    t.mockStep(report, 'store', 7)
    const { id } = await t.stint.enqueue(report, { month: 'may' })
    await t.drain()
    await t.clock.advance('2m')
    expect(await t.drain()).toMatchObject({ succeeded: 1 })
    const orders = { at: '1970-01-01T00:00:00.000Z' }
    expect(await t.job(id)).toMatchObject({ result: { orders, rows: 7 } })
    expect(seen).toEqual([
      [orders, 7],
      [orders, 7],
    ])
    expect(keys).toEqual([`${id}/load/0`])
    expect(await t.stint.steps(id)).toMatchObject([
      { name: 'load', state: 'done', result: orders },
      { name: 'store', type: 'tx', state: 'done', result: 7 },
    ])
  })

  test('a mock that throws fails its step; other kinds and tests have their own', async () => {
    const other = await open({
      handlers: (worker) =>
        worker
          .handle(report, (_input, ctx) => ctx.step('load', () => 'real'))
          .handle(mail, (_input, ctx) => ctx.step('load', () => 'mail')),
    })
    const t = await open({
      handlers: (worker) => worker.handle(report, (_input, ctx) => ctx.step('load', () => 'real')),
    })
    t.mockStep(report, 'load', () => {
      throw new Error('the model is down')
    })
    const { id } = await t.stint.enqueue(report, { month: 'may' })
    expect(await t.drain()).toMatchObject({ retrying: 1 })
    expect(await t.stint.attempts(id)).toMatchObject([{ error: { message: 'the model is down' } }])
    t.mockStep(report, 'load', 'later')
    await t.clock.advance('2m')
    expect(await t.drain()).toMatchObject({ succeeded: 1 })
    expect(await t.job(id)).toMatchObject({ result: 'later' })

    other.mockStep(report, 'load', 'mocked')
    const jobs = [
      await other.stint.enqueue(report, { month: 'may' }),
      await other.stint.enqueue(mail, { to: '' }),
    ]
    await other.drain()
    const results = await Promise.all(jobs.map(async (job) => (await other.job(job.id))?.result))
    expect(results).toEqual(['mocked', 'mail'])
  })

  test('refuses what is no contract or no name of a step', async () => {
    const t = await open({})
    expect(() => {
      t.mockStep({ kind: 'report' } as never, 'load', 1)
    }).toThrow(/contract/)
    expect(() => {
      t.mockStep(report, 'lo\0ad', 1)
    }).toThrow(/name/)
  })
})

describe('atEachBoundary()', () => {
  test('no finished step runs again, whichever record the memory is lost behind', async () => {
    const sent: string[] = []
    const t = await open({
      handlers: (worker) =>
        worker
          .handle(report, async ({ month }, ctx) => {
            const orders = await ctx.step('load', () => ({ month, total: 3 }))
            await Promise.all(['a', 'b'].map((name) => ctx.step('draft', () => name)))
            await ctx.step('shaky', () => Promise.reject(new Error('never'))).catch(() => undefined)
            await ctx.stepTx('book', async (tx) => {
              await tx.query('insert into booked values ($1)', [ctx.jobId])
            })
            await ctx.each('send', ['x', 'y'], { batch: 1 }, ([to = '']) => void sent.push(to))
            await ctx.enqueue(mail, { to: 'ana' })
            return orders
          })
          .handle(mail, (_input, ctx) => ctx.step('deliver', () => 'delivered')),
    })
    const client = await connectTo(t.url)
    await client.query('create table booked (job text)')
    const ends: BoundaryEnd[] = []
    const start = (): Promise<{ id: string }> => {
      sent.length = 0
      return t.stint.enqueue(report, { month: 'may' })
    }
    const boundaries = await t.atEachBoundary(start, async (end) => {
      ends.push(end)
      expect(end.repeats).toEqual([])
      expect(end.job).toMatchObject({ state: 'succeeded', result: { month: 'may', total: 3 } })
      expect(end.jobs.map(({ kind, state }) => [kind, state])).toEqual([
        ['report', 'succeeded'],
        ['mail', 'succeeded'],
      ])
      const { rowCount } = await client.query('select from booked where job = $1', [end.job.id])
      expect(rowCount).toBe(1)
      // A step that was under way beside the last record may run again, a finished one never.
      expect(end.ledger.filter(({ step }) => step === 'load')).toHaveLength(1)
      expect(sent).toEqual(['x', 'y'])
      const attempts = (await Promise.all(end.jobs.map(({ id }) => t.stint.attempts(id)))).flat()
      expect(attempts.map(({ outcome }) => outcome)).toEqual(end.boundary === 0 ? [] : ['lease-lost'])
    })
    // load, 2 drafts, shaky, book, 2 pages, deliver
    expect(boundaries).toBe(8)
    expect(ends.map(({ boundary }) => boundary)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    const steps = ends[0]?.ledger.map(({ kind, step, n }) => `${kind} ${step} ${n}`)
    expect(steps).toEqual([
      ...['report load 0', 'report draft 0', 'report draft 1', 'report shaky 0', 'report book 0'],
      ...['report send 0', 'report send 0', 'mail deliver 0'],
    ])
  })

  test('a start may move the clock and send signals, for a job that waits', async () => {
    const t = await open({
      handlers: (worker) =>
        worker.handle(report, async (_input, ctx) => {
          await ctx.sleep('1d')
          const answer = await ctx.waitForSignal(approved, { timeout: '3d' })
          return answer.timedOut ? null : answer.payload.by
        }),
    })
    const start = async (): Promise<{ id: string }> => {
      const job = await t.stint.enqueue(report, { month: 'may' })
      await t.drain()
      await t.clock.advance('1d')
      await t.drain()
      await t.stint.signal(job.id, approved, { by: 'ana' })
      return job
    }
    const states: unknown[] = []
    const boundaries = await t.atEachBoundary(start, ({ job }) => {
      states.push([job.state, job.result])
    })
    // The sleep, the wait, the signal that it got.
    expect(boundaries).toBe(3)
    expect(states).toEqual(Array.from({ length: 4 }, () => ['succeeded', 'ana']))
  })

  test('sees a finished step that runs again, and says behind which record', async () => {
    let calls = 0
    const t = await open({
      handlers: (worker) =>
        worker.handle(report, async (_input, ctx) => {
          await ctx.step('one', () => undefined)
          // Outside of a step: it happens again whenever the handler is called again.
          calls++
          await ctx.step('two', () => undefined)
        }),
    })
    const start = (): Promise<{ id: string }> => {
      calls = 0
      return t.stint.enqueue(report, { month: 'may' })
    }
    const failure = await t
      .atEachBoundary(start, () => {
        expect(calls).toBe(1)
      })
      .catch((error: unknown) => error)
    expect((failure as Error).message).toMatch(
      /^The check of atEachBoundary\(\) failed behind record 2, of 'two' of 'report': /,
    )
    // Afterwards drains are what they were.
    const { id } = await start()
    expect(await t.drain()).toMatchObject({ succeeded: 1 })
    expect(await t.stint.attempts(id)).toEqual([])
  })

  test('a mocked step is in the ledger, and one whose record is gone counts as a repeat', async () => {
    const t = await open({
      handlers: (worker) =>
        worker.handle(report, async (_input, ctx) => {
          await ctx.step('one', () => 'real')
          if (ctx.fence.epoch === 1) throw new Error('once more')
        }),
    })
    t.mockStep(report, 'one', 'mocked')
    const client = await connectTo(t.url)
    const start = async (): Promise<{ id: string }> => {
      const job = await t.stint.enqueue(report, { month: 'may' })
      await t.drain()
      await client.query('delete from stint.step')
      await t.clock.advance('1h')
      return job
    }
    const repeats: number[] = []
    await t.atEachBoundary(start, (end) => {
      repeats.push(end.repeats.length)
    })
    // Behind the first record the attempt ends before the record is deleted.
    expect(repeats).toEqual([1, 0, 1])
  })

  test('refuses a start that cannot show anything', async () => {
    const t = await open({ handlers: (worker) => worker.handle(mail, () => undefined) })
    const check = (): void => undefined
    await expect(t.atEachBoundary(() => t.stint.enqueue(mail, { to: 'a' }), check)).rejects.toThrow(
      /nothing was recorded/,
    )
    await expect(t.atEachBoundary((() => Promise.resolve()) as never, check)).rejects.toThrow(
      /returns the job/,
    )
    await expect(t.atEachBoundary('x' as never, check)).rejects.toThrow(/start/)
    const stepped = await open({
      handlers: (worker) => worker.handle(mail, (_input, ctx) => ctx.step('one', () => 1)),
    })
    const same = (): Promise<{ id: string }> =>
      stepped.stint.enqueue(mail, { to: 'a' }, { idempotencyKey: 'the same' })
    await expect(stepped.atEachBoundary(same, check)).rejects.toThrow(/a new job each time/)
  })
})
