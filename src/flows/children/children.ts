import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import { groupTexts } from '../graph/enqueue.ts'
import type { StepKey } from '../steps/steps.ts'
import { lookAtChildrenSql } from './look-at-children.sql.ts'
import { outputsSql } from './outputs.sql.ts'
import { spawnMoreSql } from './spawn-more.sql.ts'
import { spawnSql } from './spawn.sql.ts'

/** Sets of children above one another. */
export const mostLevels = 20
/** Jobs that one statement stores. */
export const mostInStatement = 5_000

/** A set of children to store, and the record of the call that makes them. */
export interface SpawnRequest extends StepKey {
  id: string
  lease: string
  epoch: number
  seq: number
  beside: boolean
  /** How long ago the call began. */
  ms: number
  /** `open` if the call also waits for them. */
  state: 'open' | 'done'
  /** Of the record; JSON text. */
  result: string
  /** The id of the set, made by the caller: a call that is sent again with it stores nothing twice. */
  flow: string
  kind: string
  jobs: readonly PreparedJob[]
}

/** `isNew` is false if an earlier try has stored them. */
export type Spawned = { type: 'stored'; isNew: boolean } | { type: 'lost' } | { type: 'too-deep' }

/** Stores the first children of a set. If there are more than `mostInStatement`, `spawnMore` follows in one transaction. */
export async function spawn(db: Queryable, request: SpawnRequest): Promise<Spawned> {
  const params = { ...request, jobs: request.jobs.length, groups: groupsFrom(request, 0), mostLevels }
  const [row] = await run(db, spawnSql, params, (found: { depth: number; isNew: boolean }) => found)
  if (row === undefined) return { type: 'lost' }
  return row.depth > mostLevels ? { type: 'too-deep' } : { type: 'stored', isNew: row.isNew }
}

/** Stores the children behind the first ones. */
export async function spawnMore(tx: Queryable, request: SpawnRequest): Promise<void> {
  for (let first = mostInStatement; first < request.jobs.length; first += mostInStatement)
    await run(tx, spawnMoreSql, { ...request, groups: groupsFrom(request, first) }, () => undefined)
}

function groupsFrom({ jobs }: SpawnRequest, first: number): string {
  const part = jobs.slice(first, first + mostInStatement)
  return `[${groupTexts({ jobs: part, keepsOutputs: true }, first).join(',')}]`
}

/** The first child that failed; its id is null if its row was deleted by hand. */
export interface FailedChild {
  id: string | null
  state: 'dead' | 'cancelled'
  error: OutputError | null
}

/** Of a stored error; another role may have written it. */
export interface OutputError {
  name: string | null
  message: string | null
  code: string | null
}

export interface ChildrenLook {
  isOver: boolean
  /** Sets with jobs that have not ended. */
  openFlows: string[]
  failed: FailedChild | null
}

/** How children are; undefined if the lease of their parent is gone. */
export async function lookAtChildren(
  db: Queryable,
  request: { id: string; lease: string; flows: readonly string[]; atFailure: boolean; cancels: boolean },
): Promise<ChildrenLook | undefined> {
  const [look] = await run(db, lookAtChildrenSql, request, (row: ChildrenLook) => row)
  return look
}

/** How a job of a set ended. */
export interface ChildOutput {
  /** The index of its set in the list, and its own in the set. */
  place: number
  member: number
  id: string
  state: string
  /** JSON text; null if it returned nothing. */
  result: string | null
  error: OutputError
}

/** A page of outputs behind this one; empty after the last. */
export function childOutputs(
  db: Queryable,
  request: { flows: readonly string[]; place: number; member: number },
): Promise<ChildOutput[]> {
  return run(db, outputsSql, request, (row: ChildOutput) => row)
}
