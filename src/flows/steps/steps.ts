import type { StoredError } from '../../core/failures/stored-error.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { parkedSql } from './parked.sql.ts'
import { recordAloneSql } from './record-alone.sql.ts'
import { recordSql } from './record.sql.ts'
import { recordsSql } from './records.sql.ts'

/** What sort of call a record is about. */
export type StepType = 'step' | 'tx' | 'each' | 'sleep' | 'signal' | 'job' | 'spawn' | 'version' | 'approval'

/** open: it waits, or is not complete; the other two are final. */
export type StepState = 'open' | 'done' | 'failed'

/** Which call of a handler's context it is: its name, and how many calls of that name came before. */
export interface StepKey {
  readonly name: string
  readonly n: number
}

/** What is stored of one call. Rows are input: another role may have written them. */
export interface StepRecord extends StepKey {
  readonly seq: number
  readonly type: StepType
  readonly state: StepState
  readonly tries: number
  /** Another call was under way when it began. */
  readonly beside: boolean
  /** Undefined where the call returned nothing. */
  readonly result: unknown
  readonly blob: string | null
  readonly error: StoredError | null
  /** Its wait was over when the record was read. */
  readonly isOver: boolean
  /** When its wait is over, in milliseconds from when the record was read; null where it has no end. */
  readonly untilMs: number | null
  /** In milliseconds since 1970, by the database's clock. */
  readonly startedAt: number | null
  readonly endedAt: number | null
}

/** A record to write. */
export interface NewRecord extends StepKey {
  readonly job: string
  readonly lease: string
  readonly epoch: number
  readonly seq: number
  readonly type: StepType
  readonly state: StepState
  readonly tries: number
  readonly beside: boolean
  /** How long ago the call began. */
  readonly ms: number
  /** When its wait is over: in so many milliseconds, or at a time as ISO 8601. */
  readonly untilMs?: number | undefined
  readonly untilAt?: string | undefined
  /** JSON text; undefined where the call returned nothing. */
  readonly result?: string | undefined
  readonly blob?: string | undefined
  readonly error?: StoredError | undefined
}

/** Records of a job that are read at most, one more than it may have. */
export const mostRecords = 10_000

/** Writes records. Returns the keys that were written; one that is missing has lost its lease, or its row is in use. */
export async function record(
  db: Queryable,
  records: readonly NewRecord[],
  { isAlone }: { isAlone: boolean },
): Promise<ReadonlySet<string>> {
  const steps = `[${records.map(textOf).join(',')}]`
  const statement = isAlone ? recordAloneSql : recordSql
  const written = await run(db, statement, { steps }, (row: StepKey & { id: string }) => row)
  return new Set(written.map(({ id, ...key }) => recordKey(id, key)))
}

/** One text for a record of a job. */
export function recordKey(job: string, { name, n }: StepKey): string {
  return `${job} ${n} ${name}`
}

/** The records of each of these jobs, in the order in which their results were recorded. */
export async function readRecords(db: Queryable, ids: readonly string[]): Promise<Map<string, StepRecord[]>> {
  type Row = StepRecord & { job: string; hasResult: boolean }
  const rows = await run(db, recordsSql, { ids, limit: mostRecords + 1 }, (row: Row) => row)
  const found = new Map<string, StepRecord[]>()
  for (const { job, hasResult, ...row } of rows) {
    const one = hasResult ? row : { ...row, result: undefined }
    const known = found.get(job)
    if (known === undefined) found.set(job, [one])
    else known.push(one)
  }
  return found
}

/** How often the job was parked, one time after the other. */
export async function parkedTries(db: Queryable, id: string): Promise<number> {
  const [tries] = await run(db, parkedSql, { id }, (row: { tries: number }) => row.tries)
  return tries ?? 0
}

/** The result is JSON already: it is joined, never parsed again. */
function textOf({ result, ...rest }: NewRecord): string {
  const text = JSON.stringify(rest)
  return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`
}
