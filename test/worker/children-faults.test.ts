import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { movableClock } from '../support/clock.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { form } from '../support/form.ts'
import { eventually, gate, newName, startWorker, stored, takeLease, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

function newPair() {
  const queue = newName('family')
  const child = defineJob({ kind: newName('child'), queue, input: typed<number>(), output: typed<number>() })
  const parent = defineJob({ kind: newName('parent'), queue, retry: { backoff: () => 1 } })
  return { queue, child, parent }
}

function startPair(
  { queue, child, parent }: ReturnType<typeof newPair>,
  run: (ctx: HandlerContext) => Promise<unknown>,
  options: { connection?: string } = {},
): Promise<TestWorker> {
  return startWorker(scene, { queues: { [queue]: 10 }, ...options }, (worker) =>
    worker.handle(child, (n) => Promise.resolve(n)).handle(parent, (_input, ctx) => run(ctx)),
  )
}

async function countOf(parent: string): Promise<number> {
  const [row] = await scene.db.query<{ jobs: number }>(
    'select count(*)::integer as jobs from stint.jobs where parent_id = $1',
    [parent],
  )
  return row?.jobs ?? 0
}

test.each(['spawn', 'all', 'large set'] as const)(
  'a worker that has lost its lease cannot store children: %s',
  async (what) => {
    const pair = newPair()
    const errors: unknown[] = []
    const calls = {
      spawn: (ctx: HandlerContext): Promise<unknown> => ctx.spawn(pair.child, 1),
      all: (ctx: HandlerContext): Promise<unknown> => ctx.all(pair.child, [1, 2]),
      'large set': (ctx: HandlerContext): Promise<unknown> =>
        ctx.spawnAll(pair.child, Array<number>(5_001).fill(1)),
    }
    const worker = await startPair(pair, async (ctx) => {
      if (ctx.fence.epoch > 1) return
      await takeLease(scene, ctx.jobId)
      await calls[what](ctx).catch((error: unknown) => errors.push(error))
    })
    const { id } = await scene.stint.enqueue(pair.parent)
    await worker.hears('succeeded', id)
    // The other attempt may end before the inputs of a large set are checked.
    await eventually(() => Promise.resolve(errors.length > 0), 'the refused call')
    expect(errors).toMatchObject([{ code: 'lease-lost' }])
    expect(await countOf(id)).toBe(0)
  },
)

test('a parent whose worker is lost between the spawn and the suspend finds its children, and makes no second set', async () => {
  const pair = newPair()
  const worker = await startPair(pair, async (ctx) => {
    const all = ctx.all(pair.child, [1, 2, 3])
    // Its spawn is stored by now or soon; the suspend finds no lease.
    if (ctx.fence.epoch === 1) {
      const { opened, open } = gate()
      const look = async (): Promise<void> => {
        if ((await countOf(ctx.jobId)) > 0) open(undefined)
      }
      const timer = setInterval(() => void look(), 5)
      await ctx.step('hold', () => opened)
      clearInterval(timer)
      await takeLease(scene, ctx.jobId)
    } else await ctx.step('hold', () => undefined)
    return all
  })
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ result: [1, 2, 3] })
  expect(await countOf(id)).toBe(3)
})

test.each([
  ['flows/children/spawn.sql', 'before', 2],
  ['flows/children/spawn.sql', 'after', 2],
  ['commit', 'after', 5_001],
  ['flows/children/look-at-children.sql', 'after', 2],
  ['flows/waiting/suspend.sql', 'after', 2],
] as const)(
  'a lost reply to %s (%s the server got it) is no second set of children',
  async (text, when, jobs) => {
    const pair = newPair()
    const proxy = await startFaultProxy(scene.db.url)
    const { opened, open } = gate()
    const worker = await startPair(
      pair,
      async (ctx) => {
        if (ctx.fence.epoch === 1) await opened
        const set = await ctx.spawnAll(pair.child, Array<number>(jobs).fill(1))
        if (jobs > 100) return set.size
        return (await ctx.all(pair.child, [1, 2])).length + set.size
      },
      { connection: proxy.url },
    )
    const { id } = await scene.stint.enqueue(pair.parent)
    await worker.hears('started', id)
    const cut = proxy.cutNext({ text, when })
    open(undefined)
    await cut
    await worker.hears('succeeded', id)
    expect(await countOf(id)).toBe(jobs > 100 ? jobs : 4)
  },
)

test('the last child ends while its parent suspends: no wake-up is lost', async () => {
  const pair = newPair()
  const rounds = { short: 100, medium: 1_000, long: 10_000 }[form]
  const worker = await startPair(pair, async (ctx) => (await ctx.all(pair.child, [1, 2])).length)
  await scene.stint.enqueueMany(pair.parent, Array<null>(rounds).fill(null))
  await worker.tells('succeeded', ({ kind }) => kind === pair.parent.kind, rounds)
  expect(worker.told('dead')).toEqual([])
})

test('a parent that waits ten days gets all results, although the history of its children was dropped', async () => {
  const clock = await movableClock(scene.db)
  const pair = newPair()
  const worker = await startPair(pair, async (ctx) => {
    const set = await ctx.spawnAll(pair.child, [1, 2, 3])
    await ctx.sleep('10d')
    const sum = { n: 0 }
    for await (const one of set.results()) if (one.state === 'succeeded') sum.n += one.result
    return sum
  })
  const { id } = await scene.stint.enqueue(pair.parent)
  await worker.hears('waiting', id)
  await worker.tells('succeeded', ({ kind }) => kind === pair.child.kind, 3)
  await scene.db.query('delete from stint.finished where parent_id = $1', [id])
  await clock.advance('10 days 1 second')
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ result: { n: 6 } })
})
