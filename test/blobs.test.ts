import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, fileBlobStore, Stint } from '../src/index.ts'
import type { BlobStore } from '../src/index.ts'
import { connectTo, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { startFaultProxy } from './support/fault-proxy.ts'

const ocr = defineJob({ kind: 'document.ocr', queue: 'documents' })
const large = { text: 'x'.repeat(100_000) }

let db: TestDatabase
let dir: string
let store: BlobStore
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  dir = await mkdtemp(join(tmpdir(), 'stint-blobs-'))
  store = fileBlobStore({ dir })
  stint = new Stint({ connection: db.url, blobs: { store } })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
  await rm(dir, { recursive: true })
})

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const key of store.list()) found.push(key)
  return found.sort()
}

async function blobOf(id: string): Promise<string | null> {
  const [row] = await db.query<{ input_blob: string | null }>(
    'select input_blob from stint.jobs where id = $1',
    [id],
  )
  return row?.input_blob ?? null
}

describe('an input above the threshold', () => {
  test('an input above the threshold leaves its row and comes back with the job', async () => {
    const { id } = await stint.enqueue(ocr, large)
    expect(
      await db.query('select input, input_blob is not null as elsewhere from stint.job where id = $1', [id]),
    ).toEqual([{ input: null, elsewhere: true }])
    expect((await stint.get(id))?.input).toEqual(large)
    expect((await stint.cancel(id)).input).toEqual(large)
  })

  test('an input may be as large as the blob limit, and no larger', async () => {
    const tight = new Stint({ connection: db.url, blobs: { store, maxBytes: 150_000 } })
    await expect(tight.enqueue(ocr, 'x'.repeat(150_000))).rejects.toMatchObject({ code: 'invalid-input' })
    const { id } = await stint.enqueue(ocr, 'x'.repeat(3_000_000))
    expect((await stint.get(id))?.input).toHaveLength(3_000_000)
    await tight.close()
  })

  test('an input below the threshold stays in the row', async () => {
    expect(await blobOf((await stint.enqueue(ocr, 'x'.repeat(65_000))).id)).toBeNull()
  })

  test('a large input works with unique jobs and idempotency keys, in any order of its properties', async () => {
    const first = await stint.enqueue(ocr, { a: large, b: 1 }, { unique: {}, idempotencyKey: 'blob' })
    expect(
      await stint.enqueue(ocr, { b: 1, a: large }, { unique: {}, idempotencyKey: 'blob' }),
    ).toMatchObject({ id: first.id, duplicate: true })
    await expect(stint.enqueue(ocr, { a: large, b: 2 }, { idempotencyKey: 'blob' })).rejects.toMatchObject({
      code: 'idempotency-conflict',
    })
    const replaced = await stint.enqueue(ocr, { a: large, b: 3 }, { unique: { key: 'r' } })
    await stint.enqueue(ocr, { a: large, b: 4 }, { unique: { key: 'r', onConflict: 'replace' } })
    expect((await stint.get(replaced.id))?.input).toEqual({ a: large, b: 4 })
  })

  test('a large input equals the same input of a producer without a blob store', async () => {
    const inRow = new Stint({ connection: db.url })
    const input = { z: large.text, é: [1e21, 1.5e-7, -0.25, null], aa: { b: true } }
    const first = await stint.enqueue(ocr, input, { idempotencyKey: 'both', unique: {} })
    expect(await inRow.enqueue(ocr, input, { idempotencyKey: 'both' })).toMatchObject({
      id: first.id,
      duplicate: true,
    })
    expect(await inRow.enqueue(ocr, input, { unique: {} })).toMatchObject({ id: first.id, duplicate: true })
    await inRow.close()
  })

  test('a client without the blob store can change a job with a large input', async () => {
    const blind = new Stint({ connection: db.url })
    const { id } = await stint.enqueue(ocr, large)
    expect(await blind.reprioritize(id, 7)).toMatchObject({ priority: 7, input: null })
    expect(await blind.cancel(id)).toMatchObject({ state: 'cancelled' })
    await blind.close()
  })

  test('a large input works in enqueueMany and in a transaction', async () => {
    const client = await connectTo(db.url)
    await client.query('begin')
    const { jobs } = await stint.enqueueMany(ocr, [large, { small: 1 }], { tx: client })
    await client.query('commit')
    const inputs = await Promise.all(jobs.map(async ({ id }) => (await stint.get(id))?.input))
    expect(inputs).toEqual([large, { small: 1 }])
  })

  test('a large input can be updated to another large or small one', async () => {
    const { id } = await stint.enqueue(ocr, large)
    expect((await stint.update(ocr, id, { text: 'y'.repeat(70_000) })).input).toEqual({
      text: 'y'.repeat(70_000),
    })
    expect((await stint.update(ocr, id, { text: 'short' })).input).toEqual({ text: 'short' })
    expect(await blobOf(id)).toBeNull()
  })

  test('a large input is a clear error for a client without the store, and when its blob is gone', async () => {
    const { id } = await stint.enqueue(ocr, large)
    const blind = new Stint({ connection: db.url })
    await expect(blind.get(id)).rejects.toMatchObject({ code: 'blob-missing', jobIds: [id] })
    await store.delete((await blobOf(id)) ?? '')
    await expect(stint.get(id)).rejects.toMatchObject({ code: 'blob-missing' })
    expect(await stint.reprioritize(id, 3)).toMatchObject({ priority: 3, input: null })
    expect(await stint.update(ocr, id, { text: 'found again' })).toMatchObject({
      input: { text: 'found again' },
    })
    await blind.close()
  })
})

describe('a blob that turns out not to be needed', () => {
  /** A client whose connection can be cut, and the keys that it deletes from the store. */
  async function watched() {
    const proxy = await startFaultProxy(db.url)
    const deleted: string[] = []
    const noting: BlobStore = {
      ...store,
      delete: (key) => {
        deleted.push(key)
        return store.delete(key)
      },
    }
    const client = new Stint({ connection: proxy.url, blobs: { store: noting } })
    onTestFinished(() => client.close())
    return { proxy, client, deleted }
  }
  const statement = 'jobs/enqueue-deciding.sql'

  test('a blob that is not needed is deleted at once', async () => {
    const { client, deleted } = await watched()
    await client.enqueue(ocr, large, { unique: { key: 'at once' } })
    await client.enqueue(ocr, large, { unique: { key: 'at once' } })
    await client.enqueueMany(ocr, [large], { unique: { key: 'at once' } })
    expect(deleted).toHaveLength(2)
  })

  test.each(['replace', 'debounce'] as const)(
    'a blob stays after a lost reply, because with %s it may be the input of a running job',
    async (onConflict) => {
      const { proxy, client, deleted } = await watched()
      const unique = { key: `lost ${onConflict}`, onConflict }
      const { id } = await stint.enqueue(ocr, { n: 1 }, { unique })
      const cut = proxy.cutNext({ text: statement, when: 'after' })
      const enqueued = client.enqueue(ocr, large, { unique })
      await cut
      const letPass = await proxy.holdNext(statement)
      await db.query(
        "update stint.job set state = 'running', lease_id = gen_random_uuid(), attempt = 1 where id = $1",
        [id],
      )
      letPass()
      expect(await enqueued).toMatchObject({ id, duplicate: true, replaced: false })
      expect(deleted).toEqual([])
      expect((await stint.get(id))?.input).toEqual(large)
    },
  )

  test('a blob stays where the transaction that did not need it rolls back, and a repeat stores the job', async () => {
    const { proxy, client, deleted } = await watched()
    const unique = { key: 'rolled back' }
    const holder = await stint.enqueue(ocr, { n: 1 }, { unique })
    const cut = proxy.cutNext({ text: 'commit', when: 'before' })
    const enqueued = client.enqueueMany(ocr, [large], { unique })
    await cut
    const letPass = await proxy.holdNext(statement)
    await stint.cancel(holder.id)
    letPass()
    const { jobs } = await enqueued
    expect(jobs).toMatchObject([{ duplicate: false }])
    expect(deleted).toEqual([])
    expect((await stint.get(jobs[0]?.id ?? ''))?.input).toEqual(large)
  })
})

describe('pruning', () => {
  test('pruning deletes the blobs of dropped history, replaced inputs and uncommitted enqueues, and no others', async () => {
    await stint.pruneBlobs({ grace: 0 })
    const kept = await stint.enqueue(ocr, large)
    const dropped = await stint.enqueue(ocr, large)
    const droppedKey = await blobOf(dropped.id)
    await stint.cancel(dropped.id)
    const client = await connectTo(db.url)
    await client.query('begin')
    await stint.enqueue(ocr, large, { tx: client })
    await client.query('rollback')
    const before = await keys()

    expect(await stint.pruneBlobs({ grace: '1h' })).toEqual({ unused: 0, orphaned: 0 })
    expect(await keys()).toEqual(before)

    await db.query('delete from stint.finished where id = $1', [dropped.id])
    expect(await stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 1, orphaned: 1 })
    const after = await keys()
    expect(after).toContain(await blobOf(kept.id))
    expect(after).not.toContain(droppedKey)
    expect(after).toHaveLength(before.length - 2)
    expect(await stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 0, orphaned: 0 })
  })

  test('pruning leaves foreign and half-written files alone', async () => {
    await writeFile(join(dir, 'README'), 'mine')
    await writeFile(join(dir, 'x.part'), 'half')
    await stint.pruneBlobs({ grace: 0 })
    expect(await readdir(dir)).toEqual(expect.arrayContaining(['README', 'x.part']))
  })
})

test('errors of the blob store are reported unchanged, and at once', async () => {
  const broken: BlobStore = {
    ...store,
    list: () => {
      throw new Error('the store is down')
    },
  }
  const client = new Stint({ connection: db.url, blobs: { store: broken } })
  await expect(client.pruneBlobs()).rejects.toThrow('the store is down')
  await client.close()
})

test.each(['../escape', '/etc/passwd', 'a/../b', 'a\\b', ''])(
  'the file store refuses the key %j',
  async (key) => {
    await expect((async () => store.put(key, new Uint8Array()))()).rejects.toMatchObject({
      code: 'invalid-option',
    })
  },
)
