import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import type { Schedule } from './rules/define-schedule.ts'
import { nowSql } from './now.sql.ts'
import { nextOccurrence } from './rules/occurrences.ts'
import { setSql } from './set.sql.ts'
import { storedDefinition } from './rules/stored.ts'

export async function databaseNow(db: Queryable): Promise<number> {
  const [now] = await run(db, nowSql, {}, (row: { now: number }) => row.now)
  if (now === undefined) throw new Error('The database returned no time')
  return now
}

export interface SetRequest {
  source: 'code' | 'runtime'
  appVersion: string | null
}

/** Stores a definition and returns its digest; writes nothing if the stored definition is the same. */
export async function setSchedule(
  db: Queryable,
  schedule: Schedule,
  { source, appVersion }: SetRequest,
): Promise<string> {
  const { text, digest } = await storedDefinition(schedule)
  const nowMs = await databaseNow(db)
  const next = nextOccurrence(schedule.rule, nowMs)
  await run(
    db,
    setSql,
    {
      name: schedule.name,
      definition: text,
      digest,
      source,
      appVersion,
      decidedTo: new Date(nowMs).toISOString(),
      nextFireAt: next === undefined ? null : new Date(next).toISOString(),
    },
    () => undefined,
  )
  return digest
}
