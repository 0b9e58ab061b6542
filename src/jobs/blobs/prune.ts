import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { forgetSql } from './forget.sql.ts'
import { timeOfKey } from './input-blob.ts'
import type { BlobStore } from './store.ts'
import { unknownSql } from './unknown.sql.ts'
import { unusedSql } from './unused.sql.ts'

export interface PruneResult {
  /** Blobs of jobs that are gone, or that got another input. */
  unused: number
  /** Blobs of enqueues that were never committed. */
  orphaned: number
}

const batchSize = 500

/**
 * Deletes blobs that no job needs any more. Safe at any time and from many processes.
 *
 * A blob is written before its job, so a blob that no job names may belong to an enqueue still under way: such blobs
 * are kept for `graceMs`. The blob is deleted first and its record second; after a crash in between, both are deleted
 * again.
 */
export async function pruneBlobs(db: Queryable, store: BlobStore, graceMs: number): Promise<PruneResult> {
  return { unused: await pruneUnused(db, store), orphaned: await pruneOrphaned(db, store, graceMs) }
}

export interface UnusedOptions {
  /** Begins no further batch once this is aborted. */
  signal?: AbortSignal | undefined
  /** Called with a blob that the store does not delete; its record stays, and the rest goes on. @default throws */
  onRefused?: ((key: string, error: unknown) => void) | undefined
}

/**
 * Deletes the blobs of jobs that are gone, or that got another input. Only blobs that this schema has a record of:
 * others in the store may belong to another schema.
 */
export async function pruneUnused(
  db: Queryable,
  store: BlobStore,
  { signal, onRefused }: UnusedOptions = {},
): Promise<number> {
  let pruned = 0
  for (let after = ''; signal?.aborted !== true;) {
    const keys = await run(db, unusedSql, { after, limit: batchSize }, toKey)
    const last = keys.at(-1)
    if (last === undefined) break
    const gone: string[] = []
    for (const key of keys) {
      try {
        await store.delete(key)
        gone.push(key)
      } catch (error) {
        if (onRefused === undefined) throw error
        onRefused(key, error)
      }
    }
    await run(db, forgetSql, { keys: gone }, () => undefined)
    pruned += gone.length
    after = last
  }
  return pruned
}

async function pruneOrphaned(db: Queryable, store: BlobStore, graceMs: number): Promise<number> {
  let pruned = 0
  let batch: string[] = []
  const pruneBatch = async (): Promise<void> => {
    const keys = await run(db, unknownSql, { keys: batch }, toKey)
    for (const key of keys) await store.delete(key)
    pruned += keys.length
    batch = []
  }
  for await (const key of store.list()) {
    const madeAt = timeOfKey(key)
    if (madeAt === undefined || madeAt > Date.now() - graceMs) continue
    batch.push(key)
    if (batch.length === batchSize) await pruneBatch()
  }
  if (batch.length > 0) await pruneBatch()
  return pruned
}

function toKey(row: { key: string }): string {
  return row.key
}
