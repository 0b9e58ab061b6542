import { createHash } from 'node:crypto'
import { StintError } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { jsonbText } from '../../core/json/jsonb-text.ts'
import type { Job } from '../../core/job.ts'
import type { BlobStore } from './store.ts'

/** The key of an input in the blob store, and a digest that equal inputs share. */
export interface InputBlob {
  key: string
  /** SHA-256 in hex, for uniqueness and idempotency keys. */
  digest: string
}

/** Named by a UUIDv7, below the day it was made: `inputs/2026-11-15/01a1e0…`. */
export async function putInput(store: BlobStore, id: string, text: string): Promise<InputBlob> {
  const bytes = new TextEncoder().encode(text)
  const key = `inputs/${new Date(timeOfId(id)).toISOString().slice(0, 10)}/${id}`
  await store.put(key, bytes)
  return { key, digest: inputDigest(text) }
}

/** A digest that equal inputs share: the same that stint.enqueue_one() computes of an input that stays in its row. */
export function inputDigest(text: string): string {
  return createHash('sha256')
    .update(jsonbText(JSON.parse(text) as Json))
    .digest('hex')
}

/** The job with its input, also if that is in the blob store. */
export async function withInput<Found extends Job>(store: BlobStore | undefined, job: Found): Promise<Found> {
  if (job.inputBlob === null) return job
  return { ...job, input: await readBlob(store, { jobId: job.id, key: job.inputBlob }) }
}

/** Reads an input from the blob store. */
export async function readBlob(
  store: BlobStore | undefined,
  { jobId, key }: { jobId: string; key: string },
): Promise<unknown> {
  if (store === undefined) {
    throw new StintError(
      'blob-missing',
      `The input of job ${jobId} is in a blob store (${key}). Pass the same \`blobs\` to this client or worker.`,
      { jobIds: [jobId] },
    )
  }
  const bytes = await store.get(key)
  if (bytes === undefined) {
    throw new StintError('blob-missing', `The input of job ${jobId} is missing in the blob store: ${key}.`, {
      jobIds: [jobId],
    })
  }
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown
}

/** When a blob was made, in milliseconds; undefined for a key that is not ours. */
export function timeOfKey(key: string): number | undefined {
  const [, id] = /^inputs\/\d{4}-\d\d-\d\d\/([0-9a-f-]{36})$/.exec(key) ?? []
  return id === undefined ? undefined : timeOfId(id)
}

function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
