import { textIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { wantSql } from './want.sql.ts'

/** What a person asked a worker to do. */
export interface Wanted {
  /** paused: it claims nothing and finishes the jobs that run; draining: the same, then it stops. */
  state: 'paused' | 'draining'
  reason: string | null
}

/** Stores what a worker is to do; null: to work as usual. Returns whether the worker is live. */
export async function want(db: Queryable, worker: string, wanted: Wanted | null): Promise<boolean> {
  const request = { worker, wanted: wanted === null ? null : JSON.stringify(wanted) }
  return (await run(db, wantSql, request, () => true)).length > 0
}

/** Null for anything else that is stored there. */
export function toWanted(stored: unknown): Wanted | null {
  const state = peek(stored, 'state')
  return state === 'paused' || state === 'draining' ? { state, reason: textIn(stored, 'reason') } : null
}
