/*
 * Facts about the database and whoever uses it, each asked by itself.
 *
 * What one check comes to stops no other: each has a transaction of its own, which only reads, with three seconds for a
 * statement, and its failure is a finding. Nothing is counted that grows with the number of jobs.
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
import { usualLimits } from './limits.ts'
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
/** Beyond the server's own limit, for a connection that answers nothing at all. */
const deadlineMs = 5_000
/** How many are asked at once: few, and never all that the pool can have, for it is also others'. */
const mostLanes = 3

/** Runs the checks that are named, in the order of the list of checks. */
export async function examine(db: Database, { only, limits }: ExamineOptions): Promise<Examination> {
  const [asOf = new Date()] = await run(db, asOfSql, {}, (row: { now: Date }) => row.now)
  const names = [...only]
  const all = { ...usualLimits, ...limits }
  const findings: Finding[] = []
  const next = names.entries()
  const lane = async (): Promise<void> => {
    for (const [place, check] of next)
      findings[place] = { check, ...(await verdictOf(db, checks[check], all)) }
  }
  const lanes = Math.max(1, Math.min(mostLanes, db.poolSize - 1))
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
