import { expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import { newJob, startFor, stored, takeLease, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** What an attempt does at a place: it loses its lease, as if its process had ended, and goes no further. */
type Interrupt = (place: string, ctx: HandlerContext) => Promise<void>

/** How often each function ran, and how often after the call had returned. */
interface Runs {
  ran: Record<string, number>
  again: string[]
}

const names = [
  ...[
    'one',
    'book',
    'send 1',
    'send 2',
    'send 3',
    'left',
    'right 0',
    'right 1',
    'broken',
    'after broken',
    'last',
  ],
]

/** A handler with every sort of recorded call. `at` is called inside each function, and after each call has returned. */
function handlerOf(at: Interrupt, { ran, again }: Runs) {
  return async (_input: unknown, ctx: HandlerContext): Promise<unknown> => {
    const finished = finishedOf(ctx.jobId)
    const run = async (name: string): Promise<string> => {
      ran[name] = (ran[name] ?? 0) + 1
      if (finished.has(name)) again.push(name)
      await at(`in ${name}`, ctx)
      return name
    }
    const after = async (name: string): Promise<void> => {
      finished.add(name)
      await at(`after ${name}`, ctx)
    }
    const step = async (name: string, as = name): Promise<void> => {
      await ctx.step(name, () => run(as))
      await after(as)
    }
    await ctx.version('v', 1, 2)
    await after('version')
    await step('one')
    await ctx.stepTx('book', async (tx) => {
      await tx.query('insert into booked values ($1)', [ctx.jobId])
      await run('book')
    })
    await after('book')
    let last: number | undefined
    await ctx.each('send', [1, 2, 3], { batch: 1 }, async ([item]) => {
      if (last !== undefined) await after(`send ${last}`)
      last = item
      await run(`send ${item}`)
    })
    await after('send 3')
    await ctx.sleep('1ms')
    await after('sleep')
    await Promise.all([step('left'), step('right', 'right 0'), step('right', 'right 1')])
    await ctx
      .step('broken', async () => {
        await run('broken')
        throw new Error('no such page')
      })
      .catch(() => undefined)
    await ctx.step('after broken', () => {
      finished.add('broken')
      return run('after broken')
    })
    await after('after broken')
    const { payload } = await ctx.waitForSignal<number>('go')
    await after('signal')
    await step('last')
    return payload
  }
}

const finishedBy = new Map<string, Set<string>>()
function finishedOf(id: string): Set<string> {
  const known = finishedBy.get(id) ?? new Set<string>()
  finishedBy.set(id, known)
  return known
}

test('a job that is taken over at any place repeats no finished step, and does everything once', async () => {
  await scene.db.query('create table booked (job uuid)')
  const places = [
    ...names.map((name) => `in ${name}`),
    ...[...names, 'version', 'sleep', 'signal']
      .filter((name) => name !== 'broken')
      .map((name) => `after ${name}`),
  ]
  const job = newJob()
  const runs = new Map<string, Runs>()
  const interrupted = new Set<string>()
  const worker = await startFor(
    scene,
    job,
    (input, ctx) => {
      const { place } = input as { place: string }
      const known = runs.get(place) ?? { ran: {}, again: [] }
      runs.set(place, known)
      const at: Interrupt = async (here) => {
        if (here !== place || interrupted.has(place)) return
        interrupted.add(place)
        // ctx.stepTx holds the row: such a job can only fail.
        if (place !== 'in book') await takeLease(scene, ctx.jobId)
        throw new Error('its process has ended')
      }
      return handlerOf(at, known)(input, ctx)
    },
    { queues: { [job.queue]: 10 } },
  )
  const { jobs } = await scene.stint.enqueueMany(
    job,
    places.map((place) => ({ place })),
  )
  for (const { id } of jobs) await scene.stint.signal(id, 'go', 7)
  await worker.tells('succeeded', () => true, places.length)
  expect(interrupted).toEqual(new Set(places))
  for (const [place, { ran, again }] of runs) {
    expect(again, `finished steps that ran again when interrupted ${place}`).toEqual([])
    expect(Object.keys(ran).sort(), place).toEqual([...names].sort())
    // Only the step in which the job was interrupted ran twice, and those beside it that had not returned.
    const twice = Object.keys(ran).filter((name) => (ran[name] ?? 0) > 1)
    if (!/left|right/.test(place))
      expect(twice, place).toEqual(place.startsWith('in ') ? [place.slice(3)] : [])
  }
  const booked = await scene.db.query('select job from booked group by job having count(*) = 1')
  expect(booked).toHaveLength(places.length)
  for (const { id } of jobs)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, result: 7 })
})
