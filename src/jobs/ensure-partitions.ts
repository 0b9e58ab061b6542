import { classify } from '../db/classify.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { ensurePartitionsSql } from './ensure-partitions.sql.ts'

/** Runs a write to history; if the day's partition is missing, makes it and runs the write again. */
export async function withPartitions<Result>(db: Queryable, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    if (classify(error) !== 'partition') throw error
    await ensurePartitions(db)
    return write()
  }
}

export async function ensurePartitions(db: Queryable): Promise<void> {
  await run(db, ensurePartitionsSql, {}, () => undefined)
}
