import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { InputOf, JobContract } from '../contracts/contract.ts'
import { integerOption, rejectUnknown } from '../core/options.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { enqueuedSql } from './enqueued.sql.ts'

/** A job as it was enqueued. */
export interface EnqueuedRecord<Input = unknown> {
  id: string
  kind: string
  queue: string
  key: string | null
  priority: number
  /** As it is stored: JSON. Null if it is in the blob store. */
  input: Input
  runAt: Date
  /** The job whose handler enqueued it. */
  parentId: string | null
}

/** A part of a value: fields that are left out are not compared. Items of a list are compared one by one. */
export type PartOf<Value> = Value extends readonly unknown[]
  ? { readonly [Index in keyof Value]: PartOf<Value[Index]> }
  : Value extends object
    ? { readonly [Name in keyof Value]?: PartOf<Value[Name]> | undefined }
    : Value

export interface ExpectEnqueuedOptions {
  /** Exactly this often; 0: never. @default at least once */
  times?: number | undefined
  queue?: string | undefined
  key?: string | undefined
  priority?: number | undefined
}

/** What was enqueued since the start: by any client, by handlers, schedules and SQL. */
export async function enqueued<Contract extends JobContract>(
  db: Queryable,
  contract: Contract,
): Promise<EnqueuedRecord<InputOf<Contract>>[]> {
  const all = await everything(db)
  return all.filter(({ kind }) => kind === contract.kind) as EnqueuedRecord<InputOf<Contract>>[]
}

/** The ids of everything that was enqueued since the start. */
export async function enqueuedIds(db: Queryable): Promise<string[]> {
  return (await everything(db)).map(({ id }) => id)
}

/** Throws an AssertionError that lists the jobs that were enqueued, unless such a job is among them. */
export async function expectEnqueued(
  db: Queryable,
  contract: JobContract,
  input: unknown,
  { times, queue, key, priority, ...rest }: ExpectEnqueuedOptions = {},
): Promise<void> {
  rejectUnknown('expectEnqueued()', rest, ['times', 'queue', 'key', 'priority'])
  if (times !== undefined) integerOption('times', times, { min: 0 })
  const wanted = Object.entries({ queue, key, priority }).filter(([, value]) => value !== undefined)
  const all = await everything(db)
  const found = all.filter(
    (job) =>
      job.kind === contract.kind &&
      wanted.every(([name, value]) => job[name as 'queue' | 'key' | 'priority'] === value) &&
      (input === undefined || isPartOf(asJson(input), job.input)),
  )
  if (times === undefined ? found.length > 0 : found.length === times) return
  const where = wanted.map(([name, value]) => `, ${name} ${JSON.stringify(value)}`).join('')
  const what = `'${contract.kind}'${input === undefined ? '' : ` with ${JSON.stringify(input)}`}${where}`
  const often = times === undefined ? '' : ` ${times} times`
  const number = found.length === 0 ? 'none was' : `${found.length} ${found.length === 1 ? 'was' : 'were'}`
  throw new AssertionError({
    message: `Expected a job ${what} to be enqueued${often}, but ${number}.\n${listOf(all, contract.kind)}`,
    actual: found.length,
    expected: times ?? 1,
    operator: 'expectEnqueued',
    stackStartFn: expectEnqueued,
  })
}

function everything(db: Queryable): Promise<EnqueuedRecord[]> {
  return run(db, enqueuedSql, {}, (row: EnqueuedRecord) => row)
}

const mostListed = 20

/** Jobs of the same kind first: the wanted one is most likely among them, with another input. */
function listOf(all: readonly EnqueuedRecord[], kind: string): string {
  if (all.length === 0) return 'Nothing was enqueued.'
  const sorted = [...all.filter((job) => job.kind === kind), ...all.filter((job) => job.kind !== kind)]
  const lines = sorted
    .slice(0, mostListed)
    .map(
      (job) =>
        `  ${job.kind} ${JSON.stringify(job.input)} in queue '${job.queue}'${job.key === null ? '' : `, key '${job.key}'`}`,
    )
  const more = all.length > mostListed ? [`  … and ${all.length - mostListed} more`] : []
  return ['Enqueued:', ...lines, ...more].join('\n')
}

/** Inputs are stored as JSON: a Date is text there. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function isPartOf(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      whole.length === part.length &&
      part.every((item, index) => isPartOf(item, whole[index]))
    )
  if (typeof part === 'object' && part !== null)
    return (
      typeof whole === 'object' &&
      whole !== null &&
      !Array.isArray(whole) &&
      Object.entries(part).every(([name, value]) => isPartOf(value, (whole as Record<string, unknown>)[name]))
    )
  return isDeepStrictEqual(part, whole)
}
