import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { updateInputSql } from './update-input.sql.ts'

export interface UpdateInputRequest {
  id: string
  kind: string
  version: number
  /** JSON text, or null when it went to the blob store. */
  input: string | null
  inputBlob: string | null
  /** The input that the caller has read; the job must still have it. */
  oldInput: string | null
  oldInputBlob: string | null
  key: string | null
  tokens: readonly string[] | null
  /** The unique keys of the old input and of the new one. */
  oldUnique: string
  newUnique: string
}

/** Changes a waiting job's input; false if no such job of that kind and input was waiting. */
export async function updateInput(db: Queryable, request: UpdateInputRequest): Promise<boolean> {
  const changed = await run(db, updateInputSql, request, () => true)
  return changed.length > 0
}
