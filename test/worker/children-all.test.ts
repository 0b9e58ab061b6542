import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineJob, typed } from '../../src/index.ts'
import { PermanentError } from '../../src/worker.ts'
import type { HandlerContext, OnDead, Worker } from '../../src/worker.ts'
import { form } from '../support/form.ts'
import { eventually, gate, newJob, newName, startWorker, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

const many = { short: 30, medium: 10_000, long: 100_000 }[form]

/** A kind of children that double a number; three of them fail for good. */
function newPair() {
  const queue = newName('family')
  const child = defineJob({
    kind: newName('child'),
    queue,
    input: typed<{ n: number; bad?: boolean }>(),
    output: typed<{ twice: number }>(),
  })
  const parent = defineJob({ kind: newName('parent'), queue, retry: { backoff: () => 1 } })
  return { queue, child, parent }
}
type Pair = ReturnType<typeof newPair>

async function double({ n, bad = false }: { n: number; bad?: boolean }): Promise<{ twice: number }> {
  if (bad) throw new PermanentError(`${n} is bad`)
  return Promise.resolve({ twice: 2 * n })
}

function startPair(
  { queue, child, parent }: Pair,
  run: (ctx: HandlerContext) => Promise<unknown>,
  prepare: (worker: Worker) => unknown = () => undefined,
): Promise<TestWorker> {
  return startWorker(scene, { queues: { [queue]: 20 } }, (worker) => {
    worker.handle(child, double).handle(parent, (_input, ctx) => run(ctx))
    prepare(worker)
  })
}

function inputsOf(count: number): { n: number; bad?: boolean }[] {
  const bad = [3, 7, count - 1]
  return Array.from({ length: count }, (_, n) => (bad.includes(n) ? { n, bad: true } : { n }))
}

function familyOf(parent: string): Promise<{ id: string; state: string }[]> {
  return scene.db.query('select id, state::text from stint.jobs where parent_id = $1 order by id', [parent])
}

describe(`with three dead of ${many} children, ctx.all`, () => {
  const run = async (onDead: OnDead | undefined) => {
    const pair = newPair()
    const wakes: number[] = []
    const worker = await startPair(pair, async (ctx) => {
      wakes.push(ctx.fence.epoch)
      return ctx.all(pair.child, inputsOf(many), { onDead }).then(
        (all) => ({ all: all.length, kept: all.slice(0, 10) }),
        (error: unknown) => ({
          code: (error as { code: string }).code,
          jobIds: (error as { jobIds: string[] }).jobIds,
        }),
      )
    })
    const { id } = await scene.stint.enqueue(pair.parent)
    await worker.hears('succeeded', id)
    return { id, wakes, result: (await stored(scene, id)).result as Record<string, unknown> }
  }

  test("'fail' throws child-dead at the first, with its id, and the others go on", async () => {
    const { id, result } = await run(undefined)
    expect(result['code']).toBe('child-dead')
    const family = await familyOf(id)
    expect(family.find((one) => one.id === (result['jobIds'] as string[])[0])?.state).toBe('dead')
    const isDone = async (): Promise<boolean> =>
      (await familyOf(id)).every(({ state }) => state === 'succeeded' || state === 'dead')
    await eventually(isDone, 'the others have ended')
  })

  test("'cancel' throws it and cancels those that have not started", async () => {
    const pair = newPair()
    const { opened, open } = gate()
    const slow = defineJob({ kind: newName('slow'), queue: pair.queue, input: typed<{ bad?: boolean }>() })
    const worker = await startPair(
      pair,
      async (ctx) =>
        ctx
          .all(slow, [{ bad: true }, {}, {}], { onDead: 'cancel' })
          .catch((error: unknown) => (error as { code: string }).code),
      (one) => {
        one.handle(slow, async ({ bad = false }, ctx) => {
          if (bad) throw new PermanentError('no')
          await new Promise((resolve) => {
            ctx.signal.addEventListener('abort', resolve)
          })
          throw ctx.signal.reason
        })
      },
    )
    onTestFinished(() => {
      open(undefined)
    })
    void opened
    const { id } = await scene.stint.enqueue(pair.parent)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: 'child-dead' })
    const isOver = async (): Promise<boolean> =>
      (await familyOf(id)).map(({ state }) => state).join() === 'dead,cancelled,cancelled'
    await eventually(isOver, 'the other children are cancelled')
  })

  test("'collect' wakes the parent once, with how each ended in the order of the inputs", async () => {
    const { wakes, result } = await run('collect')
    expect(result['all']).toBe(many)
    const [, , , third] = result['kept'] as unknown[]
    expect(third).toMatchObject({ state: 'dead', error: { message: '3 is bad' } })
    expect((result['kept'] as unknown[])[4]).toMatchObject({ state: 'succeeded', result: { twice: 8 } })
    expect(wakes).toEqual([1, 2])
  })

  test("'ignore' leaves them out", async () => {
    const { result } = await run('ignore')
    expect(result['all']).toBe(many - 3)
    expect((result['kept'] as unknown[])[3]).toEqual({ twice: 8 })
  })
})

test('a parent that does not catch child-dead is dead at once, and its error names the child', async () => {
  const pair = newPair()
  const worker = await startPair(pair, (ctx) => ctx.all(pair.child, [{ n: 1, bad: true }]))
  const { id } = await scene.stint.enqueue(pair.parent)
  const { error } = await worker.hears('dead', id)
  const [child] = await familyOf(id)
  expect(error?.message).toContain(child?.id)
  expect(error).toMatchObject({ class: 'permanent', code: 'child-dead' })
})

test('children of different kinds are made by ctx.spawn and waited for together, in their order', async () => {
  const pair = newPair()
  const worker = await startPair(pair, async (ctx) => {
    const children = await Promise.all([
      ctx.spawn(pair.child, { n: 1 }),
      ctx.spawn(pair.child, { n: 2, bad: true }),
    ])
    const collected = await ctx.all(children, { onDead: 'collect' })
    return { ids: children.map(({ id }) => id), collected }
  })
  const { id } = await scene.stint.enqueue(pair.parent, undefined, { correlationId: 'order 7' })
  await worker.hears('succeeded', id)
  const { ids, collected } = (await stored(scene, id)).result as { ids: string[]; collected: unknown[] }
  expect(collected).toMatchObject([
    { state: 'succeeded', id: ids[0], result: { twice: 2 } },
    { state: 'dead', id: ids[1] },
  ])
  expect(await scene.stint.get(ids[0] ?? '')).toMatchObject({ parentId: id, correlationId: 'order 7' })
  expect(await familyOf(id)).toHaveLength(2)
})

test('an attempt that is repeated stores nothing twice, and gets the same ids', async () => {
  const pair = newPair()
  const seen: unknown[] = []
  const worker = await startPair(pair, async (ctx) => {
    const { id } = await ctx.spawn(pair.child, { n: 1 })
    const set = await ctx.spawnAll(pair.child, [{ n: 2 }, { n: 3 }])
    seen.push([id, set.size])
    if (ctx.fence.epoch < 3) throw new Error('again')
    return ctx.all(pair.child, [])
  })
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('succeeded', id)
  expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(await familyOf(id)).toHaveLength(3)
  expect(await stored(scene, id)).toMatchObject({ result: [] })
})

test('results() of a set reads how each ended page by page, and a lost one counts as cancelled', async () => {
  const pair = newPair()
  const worker = await startPair(pair, async (ctx) => {
    const set = await ctx.spawnAll(pair.child, inputsOf(many + 1_200))
    const states: Record<string, number> = {}
    let sum = 0
    for await (const one of set.results()) {
      states[one.state] = (states[one.state] ?? 0) + 1
      if (one.state === 'succeeded') sum += one.result.twice
    }
    return { states, sum }
  })
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('succeeded', id)
  const count = many + 1_200
  const sum = count * (count - 1) - 2 * (3 + 7 + count - 1)
  expect(await stored(scene, id)).toMatchObject({
    result: { states: { succeeded: count - 3, dead: 3 }, sum },
  })
})

test('what a parent once saw it sees again, also if the dead child has succeeded since', async () => {
  const pair = newPair()
  let isBad = true
  const kind = defineJob({ kind: newName('moody'), queue: pair.queue })
  const { opened, open } = gate<string>()
  const seen: unknown[] = []
  const worker = await startPair(
    pair,
    async (ctx) => {
      seen.push((await ctx.all(kind, [1, 2], { onDead: 'collect' })).map(({ state }) => state))
      if (ctx.fence.epoch === 2) open(ctx.jobId)
      await ctx.waitForSignal('go')
    },
    (one) => {
      one.handle(kind, (input) => {
        if (input === 1 && isBad) throw new PermanentError('not today')
        return Promise.resolve('fine')
      })
    },
  )
  const { id } = await scene.stint.enqueue(pair.parent)
  await opened
  await worker.hears('waiting', id, 2)
  isBad = false
  const dead = (await familyOf(id)).find(({ state }) => state === 'dead')?.id ?? ''
  await scene.stint.dead.replay(dead)
  await worker.hears('succeeded', dead)
  await scene.stint.signal(id, 'go')
  await worker.hears('succeeded', id)
  expect(seen).toEqual([
    ['dead', 'succeeded'],
    ['dead', 'succeeded'],
  ])
})

test('a cancelled parent ends its children and theirs; one that succeeds leaves them running', async () => {
  const queue = newName('tree')
  const tree = defineJob({ kind: newName('tree'), queue, input: typed<{ level: number; waits: boolean }>() })
  const worker = await startWorker(scene, { queues: { [queue]: 20 } }, (one) =>
    one.handle(tree, async ({ level, waits }, ctx) => {
      if (level === 3) {
        await ctx.waitForSignal('never')
        return
      }
      const inputs = [1, 2].map(() => ({ level: level + 1, waits }))
      if (waits) await ctx.all(tree, inputs)
      else await ctx.spawnAll(tree, inputs)
    }),
  )
  const root = await scene.stint.enqueue(tree, { level: 0, waits: true })
  const left = await scene.stint.enqueue(tree, { level: 2, waits: false })
  await worker.tells('waiting', ({ queue: own }) => own === queue, 1 + 2 + 4 + 8 + 2)
  await worker.hears('succeeded', left.id)
  await scene.stint.cancel(root.id)
  const statesOf = async (): Promise<string> => {
    const rows = await scene.db.query<{ state: string; jobs: number }>(
      `with recursive tree as (
         select id, state from stint.jobs where id = $1
          union all
         select child.id, child.state from stint.jobs as child join tree on child.parent_id = tree.id
       ) select state::text, count(*)::integer as jobs from tree group by state`,
      [root.id],
    )
    return rows.map(({ state, jobs }) => `${jobs} ${state}`).join()
  }
  await eventually(async () => (await statesOf()) === '15 cancelled', 'the whole tree is cancelled')
  expect((await familyOf(left.id)).map(({ state }) => state)).toEqual(['waiting', 'waiting'])
})

test('children that are too deep are refused, and nothing is stored', async () => {
  const queue = newName('deep')
  const deep = defineJob({ kind: newName('deep'), queue, input: typed<{ level: number }>() })
  const worker = await startWorker(scene, { queues: { [queue]: 20 } }, (one) =>
    one.handle(deep, async ({ level }, ctx) => {
      await ctx.spawn(deep, { level: level + 1 })
    }),
  )
  await scene.stint.enqueue(deep, { level: 0 })
  const [dead] = await worker.tells('dead')
  expect(dead?.error).toMatchObject({ code: 'spawn-too-deep', class: 'permanent' })
  const levels = await scene.db.query('select id from stint.jobs where queue = $1', [queue])
  expect(levels).toHaveLength(21)
})

test('one bad input among many: nothing is stored, and its path is named', async () => {
  const queue = newName('strict')
  const strict = defineJob({ kind: newName('strict'), queue, input: z.object({ n: z.number() }) })
  const parent = newJob()
  const errors: unknown[] = []
  const worker = await startWorker(scene, { queues: { [parent.queue]: 1 } }, (one) =>
    one.handle(parent, async (_input, ctx) => {
      const bad = [{ n: 1 }, { n: 'x' as unknown as number }]
      const calls: (() => Promise<unknown>)[] = [
        () => ctx.all(strict, bad),
        () => ctx.all(strict, Array<{ n: number }>(100_001).fill({ n: 1 })),
        () => ctx.all(strict, 7 as unknown as []),
        () => ctx.all(strict, [], { onDead: 'explode' as OnDead }),
        () => ctx.spawn(strict, { n: 1 }, { idempotencyKey: 'k' } as object),
        () => ctx.all([{ id: 'x', kind: 'y' }]),
        () => ctx.waitForJob(strict, 'x'),
        () => ctx.waitForJob(strict, '01900000-0000-7000-8000-000000000000'),
      ]
      for (const call of calls)
        await Promise.resolve()
          .then(call)
          .catch((error: unknown) => errors.push(error))
    }),
  )
  const { id } = await scene.stint.enqueue(parent)
  await worker.hears('succeeded', id)
  expect(errors).toMatchObject([
    { code: 'invalid-input', issues: [{ path: 'inputs[1].n' }] },
    { code: 'invalid-input', issues: [{ path: 'inputs' }] },
    { code: 'invalid-option', issues: [{ path: 'inputs' }] },
    { code: 'invalid-option', issues: [{ path: 'onDead' }] },
    { code: 'invalid-option', issues: [{ path: 'idempotencyKey' }] },
    { code: 'invalid-option', issues: [{ path: 'children[0]' }] },
    { code: 'invalid-option', issues: [{ path: 'ids[0]' }] },
    { code: 'job-not-found' },
  ])
  expect(await familyOf(id)).toEqual([])
})

test('results of more than 16 MiB together are refused, and results() reads them', async () => {
  const pair = newPair()
  const large = defineJob({ kind: newName('large'), queue: pair.queue, output: typed<string>() })
  const worker = await startPair(
    pair,
    async (ctx) => {
      const code = await ctx
        .all(large, Array(67).fill(null), { name: 'too large' })
        .catch((error: unknown) => (error as { code: string }).code)
      let bytes = 0
      for await (const one of (await ctx.spawnAll(large, Array(67).fill(null))).results())
        if (one.state === 'succeeded') bytes += one.result.length
      return { code, bytes }
    },
    (one) => {
      one.handle(large, () => Promise.resolve('x'.repeat(256 * 1024 - 2)))
    },
  )
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({
    result: { code: 'results-too-large', bytes: 67 * (256 * 1024 - 2) },
  })
})

test('ctx.waitForJob returns how jobs of other programs ended, or that the time is over', async () => {
  const pair = newPair()
  const { opened, open } = gate()
  const other = defineJob({ kind: newName('other'), queue: pair.queue, output: typed<number>() })
  const ids: string[] = []
  const worker = await startPair(
    pair,
    async (ctx) => ({
      late: await ctx.waitForJob(other, ids, { timeout: '10ms' }),
      ended: await ctx.waitForJob(other, ids).finally(() => undefined),
    }),
    (one) => {
      one.handle(other, async (input) => {
        await opened
        if (input === 2) throw new PermanentError('no')
        return 1
      })
    },
  )
  ids.push((await scene.stint.enqueue(other, 1)).id, (await scene.stint.enqueue(other, 2)).id)
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('waiting', id, 2)
  expect((await scene.stint.why(id)).first).toBe('dependencies')
  open(undefined)
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({
    result: {
      late: { timedOut: true },
      ended: [
        { state: 'succeeded', id: ids[0], result: 1 },
        { state: 'dead', id: ids[1], error: { message: 'no' } },
      ],
    },
  })
})
