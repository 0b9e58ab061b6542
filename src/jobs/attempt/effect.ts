import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { effectResultSql } from './effect-result.sql.ts'
import { keepEffectSql } from './keep-effect.sql.ts'
import { takeEffectSql } from './take-effect.sql.ts'

export interface EffectKey {
  /** The kind of the job. */
  scope: string
  key: string
}

/** True if the caller has to cause the effect; false if it happened before. */
export async function takeEffect(
  tx: Queryable,
  request: EffectKey & { id: string; holdMs: number },
): Promise<boolean> {
  const taken = await run(tx, takeEffectSql, request, () => true)
  return taken.length > 0
}

export async function effectResult(tx: Queryable, key: EffectKey): Promise<unknown> {
  const [result] = await run(tx, effectResultSql, { ...key }, (row: { result: unknown }) => row.result)
  return result
}

export async function keepEffect(tx: Queryable, request: EffectKey & { result: string }): Promise<void> {
  await run(tx, keepEffectSql, request, () => undefined)
}
