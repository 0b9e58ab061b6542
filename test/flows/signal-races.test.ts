import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import { connectTo } from '../support/database.ts'
import { form } from '../support/form.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

const races = { short: 20, medium: 1_000, long: 10_000 }[form]

interface Outcome {
  /** All that the first wait returned in the attempts of the job: the payload, or that it timed out. */
  seen: string[]
  /** What a further wait got. */
  second: string
}

interface Race {
  timeout?: string
  /** Done before the job starts. */
  before?: (id: string) => Promise<unknown>
  /** Begun when the job is about to wait. */
  during: (id: string) => Promise<unknown>
}

/** Each job waits for a signal, fails once when it has it, and then looks for a second one. */
async function run({ timeout, before, during }: Race): Promise<Outcome[]> {
  const job = newJob()
  const inputs = Array.from({ length: races }, () => null)
  const ids = (await scene.stint.enqueueMany(job, inputs)).jobs.map(({ id }) => id)
  for (const id of ids) await before?.(id)
  const seenBy = new Map(ids.map((id) => [id, [] as string[]]))
  const underWay: Promise<unknown>[] = []
  const worker = await startFor(
    scene,
    job,
    async (_input: unknown, ctx: HandlerContext) => {
      if (ctx.fence.epoch === 1) underWay.push(during(ctx.jobId))
      const first = textOf(
        await (timeout === undefined
          ? ctx.waitForSignal<string>('go')
          : ctx.waitForSignal<string>('go', { timeout })),
      )
      const seen = seenBy.get(ctx.jobId) ?? []
      if (seen.push(first) === 1) throw new Error('once more')
      return textOf(await ctx.waitForSignal<string>('go', { timeout: '1ms' }))
    },
    { queues: { [job.queue]: 20 } },
  )
  await worker.tells('succeeded', () => true, races)
  await Promise.all(underWay)
  expect(worker.told('dead')).toEqual([])
  expect(worker.told('leaseLost')).toEqual([])
  const results = await scene.db.query<{ id: string; result: string }>(
    'select id, result from stint.finished where queue = $1',
    [job.queue],
  )
  const resultOf = new Map(results.map(({ id, result }) => [id, result]))
  for (const seen of seenBy.values()) expect(seen.length).toBeGreaterThan(1)
  return ids.map((id) => ({ seen: [...new Set(seenBy.get(id))], second: resultOf.get(id) ?? 'none' }))
}

function textOf(got: { timedOut: boolean; payload?: string }): string {
  return got.timedOut ? 'timed out' : String(got.payload)
}

const send = (id: string, payload: string, options: object = {}): Promise<unknown> =>
  scene.stint.signal(id, 'go', payload, options)

/** Up to four milliseconds later. */
const soon = (): Promise<void> => pause(Math.random() * 4)

const once: Outcome = { seen: ['a'], second: 'timed out' }

test(`a signal before the wait is taken once, in ${races} races`, { timeout: 300_000 }, async () => {
  const ended = await run({ before: (id) => send(id, 'a'), during: () => Promise.resolve() })
  expect(ended).toEqual(ended.map(() => once))
})

test(
  `a signal beside the suspend, twice with one key, wakes the job once, in ${races} races`,
  { timeout: 300_000 },
  async () => {
    const ended = await run({
      during: (id) =>
        Promise.all(
          [1, 2].map(async () => {
            await soon()
            // The job may have ended before the second of them comes.
            await send(id, 'a', { key: 'k' }).catch((error: unknown) => {
              expect(error).toMatchObject({ code: 'job-ended' })
            })
          }),
        ),
    })
    expect(ended).toEqual(ended.map(() => once))
  },
)

test(
  `a signal in a transaction that is open during the suspend arrives with its commit, in ${races} races`,
  { timeout: 300_000 },
  async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => connectTo(scene.db.url)))
    const ended = await run({
      during: async (id) => {
        let session = sessions.pop()
        for (; session === undefined; session = sessions.pop()) await pause(2)
        await session.query('begin')
        await scene.stint.signal(id, 'go', 'a', { tx: session })
        await pause(Math.random() * 10)
        await session.query('commit')
        sessions.push(session)
      },
    })
    expect(ended).toEqual(ended.map(() => once))
  },
)

test(
  `a signal at the moment when the wait is over: one of the two counts, and stays, in ${races} races`,
  { timeout: 300_000 },
  async () => {
    const ended = await run({
      timeout: '4ms',
      during: async (id) => {
        await pause(4)
        await soon()
        await send(id, 'a').catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'job-ended' })
        })
      },
    })
    for (const { seen, second } of ended) {
      expect(seen).toHaveLength(1)
      // A signal that came after the time was over is there for the next wait, or came after the end.
      if (seen[0] === 'a') expect(second).toBe('timed out')
      else expect(seen[0]).toBe('timed out')
    }
  },
)

test('signals to 10,000 jobs that do not exist leave nothing behind', { timeout: 120_000 }, async () => {
  const unknown = form === 'short' ? 500 : 10_000
  const before = await scene.db.query('select count(*)::integer as rows from stint.signal')
  const answers = await scene.db.query<{ outcome: string }>(
    `select distinct (sent).outcome from (select stint.signal(gen_random_uuid(), 'go') as sent from generate_series(1, $1)) as all_sent`,
    [unknown],
  )
  expect(answers).toEqual([{ outcome: 'not-found' }])
  expect(await scene.db.query('select count(*)::integer as rows from stint.signal')).toEqual(before)
})
