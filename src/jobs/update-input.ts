import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { updateInputSql } from './update-input.sql.ts'

export interface UpdateInputRequest {
  id: string
  kind: string
  version: number
  /** JSON text, or null when it went to the blob store. */
  input: string | null
  inputBlob: string | null
  inputDigest: string | null
  key: string | null
  tokens: readonly string[] | null
  /** The contract's own unique key, where it makes one. */
  uniqueBy: string | null
}

/** Changes a waiting job's input; false where no such job of that kind was waiting. */
export async function updateInput(db: Queryable, request: UpdateInputRequest): Promise<boolean> {
  const changed = await run(db, updateInputSql, request, () => true)
  return changed.length > 0
}
