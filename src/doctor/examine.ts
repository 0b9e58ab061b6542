/*
 * Runs the checks of the database and of the processes that use it, each on its own.
 *
 * A check that fails does not stop the others: each one has its own read-only transaction, with three seconds for a
 * statement, and its failure becomes a finding. No check reads a number of rows that grows with the number of jobs.
 */
import { messageOf } from '../core/failures/thrown.ts'
import { isCancelled, isRefused, isSchemaMissing } from '../db/classify.ts'
import type { Database } from '../db/database.ts'
import { run } from '../db/statement.ts'
import { asOfSql } from './as-of.sql.ts'
import type { Check } from './check.ts'
import { checks } from './checks.ts'
import type { CheckName } from './checks.ts'
import type { Finding, Verdict } from './finding.ts'
import { defaultLimits } from './limits.ts'
import type { Limits } from './limits.ts'

export interface Examination {
  findings: Finding[]
  /** The database's time. */
  asOf: Date
}

export interface ExamineOptions {
  only: readonly CheckName[]
  limits?: Partial<Limits>
}

const statementMs = 3_000
/** Longer than the server's own limit, for a connection that does not answer at all. */
const deadlineMs = 5_000
/** Checks that run at once: few, and never as many as the pool has connections, because other calls need some too. */
const maxLanes = 3

/** Runs the named checks; the findings come in the order of the names. */
export async function examine(db: Database, { only, limits }: ExamineOptions): Promise<Examination> {
  const [asOf = new Date()] = await run(db, asOfSql, {}, (row: { now: Date }) => row.now)
  const names = [...only]
  const all = { ...defaultLimits, ...limits }
  const findings: Finding[] = []
  const next = names.entries()
  const lane = async (): Promise<void> => {
    for (const [place, check] of next)
      findings[place] = { check, ...(await verdictOf(db, checks[check], all)) }
  }
  const lanes = Math.max(1, Math.min(maxLanes, db.poolSize - 1))
  await Promise.all(Array.from({ length: lanes }, lane))
  return { findings, asOf }
}

async function verdictOf(db: Database, check: Check, limits: Limits): Promise<Verdict> {
  try {
    return await db.transaction(
      async (tx) => {
        await tx.query(
          `select set_config('transaction_read_only', 'on', true), set_config('search_path', '', true),
                  set_config('statement_timeout', '${statementMs}', true)`,
          [],
        )
        return check(tx, limits)
      },
      { deadlineMs },
    )
  } catch (error) {
    return { level: 'unknown', title: 'This check could not run', detail: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  const message = messageOf(error)
  if (isCancelled(error)) return `The check took longer than ${statementMs / 1_000} s: ${message}.`
  if (isRefused(error)) return `The database login lacks a permission: ${message}.`
  if (isSchemaMissing(error)) return `A part of the schema is missing: ${message}.`
  return message
}
