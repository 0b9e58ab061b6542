import { toJob } from '../../core/job.ts'
import type { Job, JobRow } from '../../core/job.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { DeadLetterFacts } from './dead-letter.ts'
import { getDeadSql } from './get-dead.sql.ts'

/** A dead letter, and values that only an edited copy of it needs. */
export interface StoredDeadLetter {
  letter: Job & DeadLetterFacts
  /** The options that differ from the contract. */
  options: { timeoutMs: number | undefined; fireAt: string | undefined }
  /** `kind key`, as in the index. */
  uniqueKey: string | null
  isUniqueUntilStart: boolean
}

interface DeadRow extends JobRow {
  reason: DeadLetterFacts['reason']
  fingerprint: string | null
  unique_key: string | null
  unique_until_start: boolean | null
}

/** One dead letter, or undefined if the job is not one. */
export async function getDead(db: Queryable, id: string): Promise<StoredDeadLetter | undefined> {
  const [found] = await run(db, getDeadSql, { id }, (row: DeadRow) => ({
    letter: { ...toJob(row), state: 'dead' as const, reason: row.reason, fingerprint: row.fingerprint },
    options: { timeoutMs: timeoutIn(row.options), fireAt: fireAtIn(row.options) },
    uniqueKey: row.unique_key,
    isUniqueUntilStart: row.unique_until_start ?? false,
  }))
  return found
}

function timeoutIn(options: unknown): number | undefined {
  const timeoutMs = peek(options, 'timeoutMs')
  return typeof timeoutMs === 'number' && timeoutMs >= 1 ? timeoutMs : undefined
}

/** The time in the one form that Stint stores; any other value is ignored. */
function fireAtIn(options: unknown): string | undefined {
  const fireAt = peek(options, 'fireAt')
  return typeof fireAt === 'string' && /^\d{4}-\d{2}-\d{2}T[\d:.]{12}Z$/.test(fireAt) ? fireAt : undefined
}
