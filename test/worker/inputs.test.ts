import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineJob, fileBlobStore, Stint } from '../../src/index.ts'
import type { BlobStore } from '../../src/index.ts'
import {
  attemptsOf,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

describe('an input of an older version', () => {
  test('an input of an older version is migrated step by step before the handler sees it', async () => {
    const queue = newName()
    const kind = 'image.resize'
    const [first, second] = [defineJob({ kind, queue }), defineJob({ kind, queue, version: 2 })]
    const current = defineJob({
      kind,
      queue,
      version: 3,
      input: z.object({ image: z.string(), width: z.number().default(400) }),
      upcast: {
        1: (old: { id: string }) => ({ imageId: old.id }),
        2: (old: { imageId: string }) => Promise.resolve({ image: old.imageId }),
      },
    })
    const jobs = [
      await scene.stint.enqueue(first, { id: 'one' }),
      await scene.stint.enqueue(second, { imageId: 'two' }),
      await scene.stint.enqueue(current, { image: 'three', width: 9 }),
    ]
    const worker = await startWorker(scene, { queues: { [queue]: 1 } }, (one) =>
      one.handle(current, (input) => input),
    )
    const results: unknown[] = []
    for (const { id } of jobs) {
      await worker.hears('succeeded', id)
      results.push((await stored(scene, id)).result)
    }
    expect(results).toEqual([
      { image: 'one', width: 400 },
      { image: 'two', width: 400 },
      { image: 'three', width: 9 },
    ])
  })

  test('an old input without a migration becomes a dead letter, and so does one that its schema refuses', async () => {
    const queue = newName()
    const kind = 'image.resize'
    const current = defineJob({
      kind,
      queue,
      version: 3,
      input: z.object({ n: z.number() }),
      upcast: { 2: (old) => old },
    })
    const old = await scene.stint.enqueue(defineJob({ kind, queue }), { n: 1 })
    const invalid = await scene.stint.enqueue(defineJob({ kind, queue, version: 2 }), { n: 'one' })
    const throwing = await scene.stint.enqueue(defineJob({ kind, queue, version: 3 }), { n: 1 })
    let runs = 0
    const worker = await startWorker(scene, { queues: { [queue]: 1 } }, (one) =>
      one.handle(current, () => ++runs),
    )
    expect(await worker.hears('dead', old.id)).toMatchObject({
      reason: 'discarded-contract',
      error: { class: 'contract', code: 'contract-mismatch' },
    })
    expect(await worker.hears('dead', invalid.id)).toMatchObject({
      reason: 'discarded-contract',
      error: { class: 'invalid', code: 'invalid-input' },
    })
    await worker.hears('succeeded', throwing.id)
    expect(runs).toBe(1)
  })

  test('an input migration that throws is an ordinary failure and is retried', async () => {
    const queue = newName()
    const kind = 'image.resize'
    let tries = 0
    const current = defineJob({
      kind,
      queue,
      version: 2,
      retry: { backoff: () => 1 },
      upcast: {
        1: (old: unknown) => {
          if (++tries === 1) throw new Error('the lookup failed')
          return old
        },
      },
    })
    const { id } = await scene.stint.enqueue(defineJob({ kind, queue }), 'old')
    const worker = await startWorker(scene, { queues: { [queue]: 1 } }, (one) =>
      one.handle(current, (input) => input),
    )
    await worker.hears('succeeded', id)
    expect(await attemptsOf(scene, id)).toMatchObject([
      { error: { class: 'unknown', message: 'the lookup failed' } },
    ])
    expect((await stored(scene, id)).result).toBe('old')
  })

  test('an input newer than the worker knows is left to newer workers', async () => {
    const queue = newName()
    const kind = 'image.resize'
    const newer = await scene.stint.enqueue(defineJob({ kind, queue, version: 2 }), 'new')
    const keyed = await scene.stint.enqueue(defineJob({ kind, queue, version: 2 }), 'new', { key: 'k' })
    const known = await scene.stint.enqueue(defineJob({ kind, queue }), 'old')
    const worker = await startWorker(scene, { queues: { [queue]: 1 } }, (one) =>
      one.handle(defineJob({ kind, queue }), (input) => input),
    )
    await worker.hears('succeeded', known.id)
    for (const { id } of [newer, keyed])
      expect(await stored(scene, id)).toMatchObject({ state: 'ready', epoch: 0 })
  })
})

describe('an input in a blob store', () => {
  async function withStore(): Promise<{ store: BlobStore; producer: Stint }> {
    const dir = await mkdtemp(join(tmpdir(), 'stint-worker-blobs-'))
    const store = fileBlobStore({ dir })
    const producer = new Stint({ connection: scene.db.url, blobs: { store, thresholdBytes: 100 } })
    onTestFinished(async () => {
      await producer.close()
      await rm(dir, { recursive: true })
    })
    return { store, producer }
  }

  const large = { text: 'x'.repeat(10_000) }

  test('an input in a blob store is loaded for the handler, and its children may use the store too', async () => {
    const job = newJob()
    const { store, producer } = await withStore()
    const worker = await startFor(
      scene,
      job,
      async (input, ctx) => {
        if (ctx.key === null) await ctx.enqueue(job, input, { key: 'child' })
        return (input as typeof large).text.length
      },
      { blobs: { store, thresholdBytes: 100 } },
    )
    const { id } = await producer.enqueue(job, large)
    await worker.hears('succeeded', id)
    expect(await producer.get(id)).toMatchObject({ input: large, result: 10_000 })
    const [child] = await worker.tells('succeeded', ({ key }) => key === 'child')
    expect(await producer.get(child?.id ?? '')).toMatchObject({ parentId: id, input: large, result: 10_000 })
  })

  test('a blob that is missing is an ordinary failure and is retried, because a store may lag behind', async () => {
    const job = newJob()
    const { store, producer } = await withStore()
    let asked = 0
    const lagging: BlobStore = {
      ...store,
      get: (key) => (++asked <= 2 ? Promise.resolve(undefined) : store.get(key)),
    }
    const worker = await startFor(scene, job, (input) => (input as typeof large).text.length, {
      blobs: { store: lagging },
    })
    const { id } = await producer.enqueue(job, large)
    await worker.hears('succeeded', id)
    const missing = { outcome: 'failed', error: { class: 'unknown', code: 'blob-missing' } }
    expect(await attemptsOf(scene, id)).toMatchObject([missing, missing])
    expect(await producer.get(id)).toMatchObject({ result: 10_000, attempt: 3 })
  })

  test('an input in a blob store fails in a worker without that store, with an error that says so', async () => {
    const job = newJob()
    const { producer } = await withStore()
    const worker = await startFor(scene, job, () => 'never')
    const { id } = await producer.enqueue(job, large, { attempts: 1 })
    expect(await worker.hears('dead', id)).toMatchObject({
      error: { code: 'blob-missing', message: expect.stringContaining('`blobs`') as string },
    })
  })
})
