import { beforeAll, describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobOptions } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { connectTo } from '../support/database.ts'
import { attemptsOf, newJob, newName, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()
beforeAll(async () => {
  await scene.db.query('create table public.note (job uuid not null)')
})

type Enqueue = () => Promise<unknown>
type Succeed = (ctx: HandlerContext, enqueue: Enqueue) => Promise<unknown>

/** The ways in which a job can succeed, with a write of the handler where it is stored together with the success. */
const ways: [string, boolean, Succeed][] = [
  ['returning', false, (_ctx, enqueue) => enqueue()],
  [
    'ctx.tx',
    true,
    (ctx, enqueue) =>
      ctx.tx(async (tx) => {
        await tx.query('insert into public.note (job) values ($1)', [ctx.jobId])
        await enqueue()
      }),
  ],
  [
    'ctx.complete',
    true,
    async (ctx, enqueue) => {
      const client = await connectTo(scene.db.url)
      await client.query('begin')
      try {
        await client.query('insert into public.note (job) values ($1)', [ctx.jobId])
        await enqueue()
        await ctx.complete(client)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    },
  ],
]

async function notesOf(id: string): Promise<number> {
  return (await scene.db.query('select from public.note where job = $1', [id])).length
}

describe.each(ways)('a duplicate child of a job that succeeds by %s', (_, hasNote, succeed) => {
  /** A job whose handler enqueues a child that is a duplicate of another job. */
  async function given(first: unknown, second: unknown, options: JobOptions) {
    // Many attempts: the job fails until the test removes the other job.
    const job = defineJob({ kind: 'job', queue: newName(), retry: { attempts: 1_000, backoff: ['20ms'] } })
    const child = newJob('child')
    const other = await scene.stint.enqueue(child, first, options)
    const ids: string[] = []
    const worker = await startFor(scene, job, (_input, ctx) =>
      succeed(ctx, async () => ids.push((await ctx.enqueue(child, second, options)).id)),
    )
    const { id } = await scene.stint.enqueue(job)
    return { worker, child, other, id, ids }
  }

  test.each<[string, JobOptions, { replaced: boolean; input: string }]>([
    ['unique', { unique: { key: 'u' } }, { replaced: false, input: 'first' }],
    [
      'unique, with replace',
      { unique: { key: 'r', onConflict: 'replace' } },
      { replaced: true, input: 'second' },
    ],
    ['unique for a while', { unique: { key: 'w', for: '1h' } }, { replaced: false, input: 'first' }],
  ])('a duplicate child is reported to listeners: %s', async (_rule, options, { replaced, input }) => {
    const { worker, child, other, id, ids } = await given('first', 'second', options)
    const told = await worker.hears('duplicateChild', id)
    expect(told).toMatchObject({
      id,
      duplicateOf: other.id,
      replaced,
      child: { id: ids[0], kind: child.kind, queue: child.queue },
    })
    expect(worker.told('succeeded').map((one) => one.id)).toEqual([id])
    expect((await stored(scene, other.id)).input).toBe(input)
    expect(await scene.stint.get(ids[0] ?? '')).toBeUndefined()
    expect(await notesOf(id)).toBe(hasNote ? 1 : 0)
  })

  test('a duplicate child by idempotency key is reported to listeners', async () => {
    const { worker, other, id } = await given('same', 'same', { idempotencyKey: newName() })
    expect(await worker.hears('duplicateChild', id)).toMatchObject({ duplicateOf: other.id, replaced: false })
  })

  test.each<[string, JobOptions]>([
    ['duplicate-job', { unique: { key: 'e', onConflict: 'error' } }],
    ['idempotency-conflict', { idempotencyKey: newName() }],
  ])(
    'a duplicate child with a conflict rule fails the attempt with %s, and nothing is stored until the conflict is gone',
    async (code, options) => {
      const { worker, child, other, id, ids } = await given('first', 'second', options)
      const { error } = await worker.hears('failed', id)
      expect(error).toMatchObject({ code, class: 'unknown' })
      expect(await notesOf(id)).toBe(0)
      expect((await attemptsOf(scene, id))[0]).toMatchObject({ outcome: 'failed', error: { code } })
      await scene.stint.cancel(other.id)
      await scene.db.query('delete from stint.idempotency_key where key = $1', [options.idempotencyKey])
      await worker.hears('succeeded', id)
      expect(await notesOf(id)).toBe(hasNote ? 1 : 0)
      const { jobs } = await scene.stint.list({ queue: child.queue, state: ['ready'] })
      expect(jobs.map((one) => one.id)).toEqual([ids.at(-1)])
      expect(worker.told('duplicateChild')).toEqual([])
    },
  )
})

test('stored children are not reported as duplicates', async () => {
  const job = newJob()
  const child = newJob('child')
  const worker = await startFor(scene, job, async (_input, ctx) => {
    await ctx.enqueue(child, 1)
    await ctx.enqueue(child, 2, { unique: { key: 'only' } })
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(await scene.db.query('select input from stint.job where parent_id = $1 order by id', [id])).toEqual([
    { input: 1 },
    { input: 2 },
  ])
  expect(worker.told('duplicateChild')).toEqual([])
})
