import { defineRate } from '../../src/index.ts'
import type { RateDefinition, RateRule } from '../../src/index.ts'
import { newName } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'

/** Stores a rate as a worker with this definition in its `flow` would. */
export async function newRate(
  { db }: Scene,
  definition: Omit<RateDefinition, 'name'> & { name?: string },
): Promise<RateRule> {
  const rate = defineRate({ name: newName('rate'), ...definition })
  const { name, byKey, tokens, periodMs, burst, keep } = rate
  await db.query(
    'insert into stint.rate (name, by_key, tokens, period_ms, burst, keep) values ($1, $2, $3, $4, $5, $6)',
    [name, byKey, tokens, periodMs, burst, keep],
  )
  return rate
}

export interface BucketRow extends Record<string, unknown> {
  key: string
  tokens: number
  taken: number
  refused: number
  blocked: boolean
}

/** The stored buckets of a rate. */
export function bucketsOf({ db }: Scene, { name }: RateRule): Promise<BucketRow[]> {
  return db.query<BucketRow>(
    `select key, tokens, taken, refused, blocked_until > stint.now() is true as blocked
       from stint.rate_bucket where name = $1 order by key`,
    [name],
  )
}
