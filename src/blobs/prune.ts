import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { forgetSql } from './forget.sql.ts'
import { timeOfKey } from './input-blob.ts'
import type { BlobStore } from './store.ts'
import { unknownSql } from './unknown.sql.ts'
import { unusedSql } from './unused.sql.ts'

export interface PruneResult {
  /** Of jobs that are gone, or that took another input. */
  unused: number
  /** Of enqueues that were never committed. */
  orphaned: number
}

const batchSize = 500

/**
 * Deletes blobs that no job needs any more. Safe at any time and from many processes.
 *
 * A blob is written before its job, so one that no job names may belong to an enqueue still under way: such ones
 * are left alone for `graceMs`. The store is emptied first and the record second; a crash in between repeats.
 */
export async function pruneBlobs(db: Queryable, store: BlobStore, graceMs: number): Promise<PruneResult> {
  return { unused: await pruneUnused(db, store), orphaned: await pruneOrphaned(db, store, graceMs) }
}

async function pruneUnused(db: Queryable, store: BlobStore): Promise<number> {
  let pruned = 0
  for (let after = ''; ;) {
    const keys = await run(db, unusedSql, { after, limit: batchSize }, toKey)
    const last = keys.at(-1)
    if (last === undefined) return pruned
    for (const key of keys) await store.delete(key)
    await run(db, forgetSql, { keys }, () => undefined)
    pruned += keys.length
    after = last
  }
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
