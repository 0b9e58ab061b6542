import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import { attemptsOf, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** How often each step's function was called. */
function counter(): { calls: Record<string, number>; count: (name: string) => number } {
  const calls: Record<string, number> = {}
  return { calls, count: (name) => (calls[name] = (calls[name] ?? 0) + 1) }
}

/** Fails the first attempts, so that the handler is called again. */
function failUntil(ctx: HandlerContext, epoch: number): void {
  if (ctx.fence.epoch < epoch) throw new Error(`attempt under epoch ${ctx.fence.epoch} fails`)
}

describe('ctx.step', () => {
  test('a finished step does not run again in the next attempt, and returns the same value', async () => {
    const job = newJob()
    const { calls, count } = counter()
    const seen: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const page = await ctx.step('fetch', () => ({ n: count('fetch'), at: new Date(0) }))
      const words = await ctx.step('count', (step) => {
        count('count')
        return { of: page.n, key: step.idempotencyKey.endsWith('/count/0') }
      })
      seen.push(page, words)
      failUntil(ctx, 3)
      return words
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(calls).toEqual({ fetch: 1, count: 1 })
    // A Date is text from the first time on: the value does not depend on whether it was stored before.
    const page = { n: 1, at: '1970-01-01T00:00:00.000Z' }
    expect(seen).toEqual([page, { of: 1, key: true }, page, { of: 1, key: true }, page, { of: 1, key: true }])
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: { of: 1, key: true } })
  })

  test('a step that returns null or nothing returns the same in the next attempt', async () => {
    const job = newJob()
    const seen: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const nil = await ctx.step('null', () => null)
      const nothing = await ctx.step('nothing', (): string | undefined => undefined)
      seen.push(nil, nothing)
      failUntil(ctx, 2)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(seen).toEqual([null, undefined, null, undefined])
  })

  test('an attempt that stored a step burns nothing when it fails; one without progress does', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      for (let part = 1; part <= Math.min(ctx.fence.epoch, 3); part++)
        await ctx.step(`part ${part}`, () => undefined)
      failUntil(ctx, 5)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const attempts = await attemptsOf(scene, id)
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'failed'],
      [1, 'failed'],
      [1, 'failed'],
      [1, 'failed'],
    ])
    expect(await stored(scene, id)).toMatchObject({ attempt: 2 })
  })

  test('steps of one name are told apart by their number, also in parallel', async () => {
    const job = newJob()
    const { calls, count } = counter()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const results = await Promise.all(
        [1, 2, 3].map((n) => ctx.step('square', () => (count(`square ${n}`), n * n))),
      )
      failUntil(ctx, 2)
      return results
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(calls).toEqual({ 'square 1': 1, 'square 2': 1, 'square 3': 1 })
    expect(await stored(scene, id)).toMatchObject({ result: [1, 4, 9] })
  })

  test('a failed step runs again if the attempt fails by it, and is remembered if the handler goes on', async () => {
    const job = newJob()
    const { calls, count } = counter()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.step('flaky', () => {
        if (count('flaky') === 1) throw new Error('not yet')
      })
      const caught = await ctx
        .step('broken', () => {
          count('broken')
          throw Object.assign(new TypeError('no such page'), { code: 'E_PAGE' })
        })
        .catch((error: unknown) => error as Error & { code: string })
      await ctx.step('after', () => count('after'))
      failUntil(ctx, 4)
      return { name: caught.name, message: caught.message, code: caught.code }
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(calls).toEqual({ flaky: 2, broken: 1, after: 1 })
    expect(await stored(scene, id)).toMatchObject({
      result: { name: 'TypeError', message: 'no such page', code: 'E_PAGE' },
    })
  })

  test('a step is tried again within the attempt by its own rule', async () => {
    const job = newJob()
    const tries: number[] = []
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.step(
        'ask',
        (step) => {
          tries.push(step.attempt)
          if (step.attempt < 3) throw new Error('busy')
          return 'answer'
        },
        { retry: { attempts: 3, backoff: [1, 1] } },
      ),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(tries).toEqual([1, 2, 3])
    expect(await attemptsOf(scene, id)).toEqual([])
  })

  test.each([
    ['NaN', () => ({ n: NaN }), 'invalid-step-result'],
    [
      'a cycle',
      () => {
        const a: Record<string, unknown> = {}
        return (a['a'] = a)
      },
      'invalid-step-result',
    ],
    ['a Map', () => new Map([[1, 2]]), 'invalid-step-result'],
    ['300 KiB', () => 'x'.repeat(300 * 1024), 'step-too-large'],
  ])('a step that returns %s ends the job with a typed error, and is not repeated', async (_, make, code) => {
    const job = newJob()
    const { calls, count } = counter()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.step('make', () => (count('make'), make()), { retry: { attempts: 3 } }),
    )
    const { id } = await scene.stint.enqueue(job)
    const { error, reason } = await worker.hears('dead', id)
    expect({ reason, code: error?.code, calls }).toEqual({ reason: 'permanent', code, calls: { make: 1 } })
    expect(error?.message).toContain("'make'")
  })

  test.each([
    ['', 'empty'],
    ['a\0b', 'NUL'],
    ['🚀', 'emoji'],
    ['x'.repeat(129), 'too long'],
  ])('a step cannot be named %j (%s)', async (name) => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) => ctx.step(name, () => 1))
    const { id } = await scene.stint.enqueue(job, undefined, { attempts: 1 })
    const { error } = await worker.hears('dead', id)
    expect(error).toMatchObject({ code: 'invalid-option' })
  })

  test('a step inside a step is refused before it runs', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.step('outer', () => ctx.step('inner', () => 'never')),
    )
    const { id } = await scene.stint.enqueue(job, undefined, { attempts: 1 })
    const { error } = await worker.hears('dead', id)
    expect(error?.message).toContain("The step 'outer' calls 'inner'")
  })
})

describe('changed code', () => {
  /** Runs one job through two versions of a handler: the first fails after its steps, the second takes over. */
  async function deploy(
    before: (ctx: HandlerContext) => Promise<unknown>,
    after: (ctx: HandlerContext) => Promise<unknown>,
  ) {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      if (ctx.fence.epoch > 1) return after(ctx)
      await before(ctx)
      throw new Error('a new version is deployed')
    })
    const { id } = await scene.stint.enqueue(job)
    return { id, worker }
  }

  const steps = async (ctx: HandlerContext, ...names: string[]): Promise<string[]> => {
    const done: string[] = []
    for (const name of names) done.push(await ctx.step(name, () => name))
    return done
  }

  test('a step that is added behind the recorded ones runs', async () => {
    const { id, worker } = await deploy(
      (ctx) => steps(ctx, 'a', 'b'),
      (ctx) => steps(ctx, 'a', 'b', 'c'),
    )
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: ['a', 'b', 'c'] })
  })

  test('steps that are made parallel run', async () => {
    const { id, worker } = await deploy(
      (ctx) => steps(ctx, 'a', 'b'),
      (ctx) => Promise.all([ctx.step('c', () => 'c'), ctx.step('b', () => 'x'), ctx.step('a', () => 'x')]),
    )
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: ['c', 'b', 'a'] })
  })

  test.each([
    ['inserted before', ['x', 'a', 'b'], "it asks for 'x' where 'a' was recorded"],
    ['renamed', ['a', 'bee', 'c'], "it asks for 'bee' where 'b' was recorded"],
    ['removed', ['b', 'c'], "it asks for 'c' where 'a' was recorded"],
  ])('a step that is %s parks the job, and nothing runs', async (_, names, reason) => {
    const ran: string[] = []
    const { id, worker } = await deploy(
      (ctx) => steps(ctx, 'a', 'b'),
      async (ctx) => {
        for (const name of names) await ctx.step(name, () => ran.push(name))
      },
    )
    const parked = await worker.hears('parked', id)
    expect(parked).toMatchObject({ reason, tries: 1 })
    expect(ran).toEqual([])
    expect(await stored(scene, id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })

  test('ctx.version gives a job that is past the place the old number, and others the new one', async () => {
    const chosen: number[] = []
    const { id, worker } = await deploy(
      (ctx) => steps(ctx, 'a', 'b'),
      async (ctx) => {
        chosen.push(await ctx.version('with x', 1, 2))
        await steps(ctx, ...(chosen[0] === 2 ? ['x'] : []), 'a', 'b')
        chosen.push(await ctx.version('later', 1, 2))
        if (ctx.fence.epoch === 2) throw new Error('once more')
        return chosen
      },
    )
    await worker.hears('succeeded', id)
    expect(chosen).toEqual([1, 2, 1, 2])
  })
})

describe('waiting', () => {
  test('ctx.sleep leaves the slot, burns nothing, and goes on when its time has come', async () => {
    const job = newJob()
    const { calls, count } = counter()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      count(`attempt ${ctx.attempt}`)
      await ctx.step('before', () => count('before'))
      await ctx.sleep('50ms')
      return ctx.step('after', () => count('after'))
    })
    const { id } = await scene.stint.enqueue(job)
    const { reason } = await worker.hears('waiting', id)
    expect(reason).toBe('sleep:')
    await worker.hears('succeeded', id)
    expect(calls).toEqual({ 'attempt 1': 2, before: 1, after: 1 })
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'waiting', attempt: 1 }])
  })

  test('a signal wakes the job that waits for it, and is taken once', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const first = await ctx.waitForSignal<{ ok: boolean }>('approved')
      const second = await ctx.waitForSignal<{ ok: boolean }>('approved', { timeout: '1ms' })
      failUntil(ctx, 3)
      return { first: first.payload, by: first.by, second: second.timedOut }
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    expect(await scene.stint.signal(id, 'other', { ok: true })).toMatchObject({ duplicate: false })
    expect(await stored(scene, id)).toMatchObject({ state: 'waiting' })
    await scene.stint.signal(id, 'approved', { ok: true }, { by: 'ana' })
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({
      result: { first: { ok: true }, by: 'ana', second: true },
    })
  })

  test('a signal that came before the wait is there at once, and one with another payload is left alone', async () => {
    const job = newJob()
    const { id } = await scene.stint.enqueue(job)
    await scene.stint.signal(id, 'paid', { order: 2 }, { key: 'p2' })
    await scene.stint.signal(id, 'paid', { order: 1 }, { key: 'p1' })
    expect(await scene.stint.signal(id, 'paid', { order: 1 }, { key: 'p1' })).toMatchObject({
      duplicate: true,
    })
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const { payload } = await ctx.waitForSignal<object>('paid', { match: { order: 1 } })
      return payload
    })
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: { order: 1 } })
    expect(await attemptsOf(scene, id)).toEqual([])
  })

  test('a wait beside a running step suspends only when the step has ended', async () => {
    const job = newJob()
    const { calls, count } = counter()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const [answer] = await Promise.all([
        ctx.waitForSignal<string>('go'),
        ctx.step('slow', async () => {
          await new Promise(setImmediate)
          await new Promise(setImmediate)
          return count('slow')
        }),
      ])
      return answer.payload
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    expect(calls).toEqual({ slow: 1 })
    await scene.stint.signal(id, 'go', 'now')
    await worker.hears('succeeded', id)
    expect(calls).toEqual({ slow: 1 })
  })

  test('a signal to a job that has ended, or that does not exist, is refused with a typed error', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, () => undefined)
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    await expect(scene.stint.signal(id, 'late')).rejects.toMatchObject({ code: 'job-ended' })
    await expect(scene.stint.signal('018f0000-0000-7000-8000-000000000000', 'x')).rejects.toMatchObject({
      code: 'job-not-found',
    })
    await expect(scene.stint.signal(id, 'a b')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.signal(id, 'big', 'x'.repeat(70_000))).rejects.toMatchObject({
      code: 'invalid-input',
    })
  })
})

describe('ctx.stepTx and ctx.each', () => {
  test('the writes of ctx.stepTx commit once, however often the handler runs', async () => {
    await scene.db.query('create table booked (job uuid, note text)')
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const booked = await ctx.stepTx('book', async (tx) => {
        await tx.query('insert into booked values ($1, $2)', [ctx.jobId, `epoch ${ctx.fence.epoch}`])
        return { seat: 7 }
      })
      failUntil(ctx, 3)
      return booked
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await scene.db.query('select note from booked where job = $1', [id])).toEqual([
      { note: 'epoch 1' },
    ])
    expect(await stored(scene, id)).toMatchObject({ result: { seat: 7 } })
  })

  test('ctx.each goes on behind the last batch that was done', async () => {
    const job = newJob()
    const batches: number[][] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.each('send', [1, 2, 3, 4, 5], { batch: 2 }, (batch) => {
        if (batch.includes(3) && ctx.fence.epoch === 1) throw new Error('the second batch fails once')
        batches.push(batch)
      })
      failUntil(ctx, 3)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(batches).toEqual([[1, 2], [3, 4], [5]])
  })
})
