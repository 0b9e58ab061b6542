import { peek } from '../../core/failures/thrown.ts'
import { textIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { parkedJobSql } from './parked-job.sql.ts'
import { resumeSql } from './resume.sql.ts'

/** A call of a handler's context. */
export interface StepCall {
  name: string
  /** 0 for the first call of this name. */
  n: number
  type: string
}

/** A job whose handler asks for other steps than those that are recorded. */
export interface ParkedJob {
  reason: string
  /** How often it was tried and parked again. */
  tries: number
  /** The call that the handler made. */
  asked: StepCall | null
  /** The record that it should have asked for before. */
  recorded: StepCall | null
  nextTryAt: Date
}

/** Why a job is parked; undefined if it is not. Another role may have written the row. */
export async function readParked(db: Queryable, id: string): Promise<ParkedJob | undefined> {
  const [row] = await run(db, parkedJobSql, { id }, (one: { parked: unknown; nextTryAt: Date }) => one)
  if (row === undefined) return undefined
  const { parked, nextTryAt } = row
  const tries = peek(parked, 'tries')
  return {
    reason: textIn(parked, 'reason') ?? 'its steps have changed',
    tries: typeof tries === 'number' ? tries : 0,
    asked: callIn(peek(parked, 'asked')),
    recorded: callIn(peek(parked, 'recorded')),
    nextTryAt,
  }
}

/** Makes a parked job ready; false if there is no parked job with this id. */
export async function resumeParked(
  db: Queryable,
  request: { id: string; accept: boolean },
): Promise<boolean> {
  return (await run(db, resumeSql, request, () => true)).length > 0
}

function callIn(stored: unknown): StepCall | null {
  const [name, n, type] = [textIn(stored, 'name'), peek(stored, 'n'), textIn(stored, 'type')]
  return name === null || typeof n !== 'number' ? null : { name, n, type: type ?? 'step' }
}
