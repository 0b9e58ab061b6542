import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { StepCall } from '../steps/parked-job.ts'
import type { StepKey } from '../steps/steps.ts'
import { sendSignalSql } from './send-signal.sql.ts'
import { suspendSql } from './suspend.sql.ts'
import { takeSignalSql } from './take-signal.sql.ts'

/** What a waiting job waits for; it wakes up at the first of them, or when its time is over. */
export interface Waits {
  signals?: readonly AwaitedSignal[]
  /** Sets of its children by id. */
  flows?: Readonly<Record<string, FlowWait>>
  /** Jobs by id: until none of them is live. */
  jobs?: readonly string[]
  /** Its handler asked for other steps than those that are recorded. */
  parked?: { reason: string; tries: number; asked: StepCall; recorded?: StepCall | undefined }
  /** It waits for a time. */
  sleep?: true
}

/** Until all have ended; until one is dead or cancelled (`failed`); or until the first of both (`dead`). */
export type FlowWait = 'ended' | 'failed' | 'dead'

export interface AwaitedSignal {
  name: string
  /** The payload must contain it. */
  match?: object | undefined
}

/** A job that has to wait. */
export interface Suspension {
  id: string
  lease: string
  waits: Waits
  /** The earliest of its times; none means ten years. */
  untilMs?: number | undefined
  untilAt?: string | undefined
  ranMs: number
  reason: string
}

/** A job that is ready although it was to wait: it was asked to stop, or its wait is over already. */
export interface WokenJob {
  /** Null for jobs that the endings of its children released. */
  id: string | null
  queue: string
  priority: number
  key: string | null
}

/** Suspends jobs. `ids` are those that were suspended: a job that is missing had lost its lease. */
export async function suspend(
  db: Queryable,
  request: { items: readonly Suspension[]; worker: string; lockMs: number | null },
): Promise<{ ids: string[]; woken: WokenJob[] }> {
  const items = JSON.stringify(request.items)
  type Row = WokenJob & { type: 'waiting' | 'ready' }
  const rows = await run(db, suspendSql, { ...request, items }, (row: Row) => row)
  const own = new Set(request.items.map(({ id }) => id))
  return {
    ids: rows.flatMap(({ id }) => (id !== null && own.has(id) ? [id] : [])),
    woken: rows.filter(({ type }) => type === 'ready'),
  }
}

/** What a job got of a signal, as its record has it. */
export type TakenSignal =
  { payload: unknown; id: string; by: string | null; sentAt: string } | { timedOut: true }

export interface TakeRequest extends StepKey {
  id: string
  lease: string
  epoch: number
  seq: number
  beside: boolean
  signal: string
  match: object | undefined
  /** How long ago the call began. */
  ms: number
}

/** `lost`: the job is not this worker's any more; `none`: nothing has come, and the wait is not over. */
export async function takeSignal(
  db: Queryable,
  { match, ...request }: TakeRequest,
): Promise<TakenSignal | 'none' | 'lost'> {
  const params = { ...request, match: match === undefined ? null : JSON.stringify(match) }
  const [row] = await run(db, takeSignalSql, params, (found: { result: TakenSignal | null }) => found)
  if (row === undefined) return 'lost'
  return row.result ?? 'none'
}

/** What became of a signal; `full` means that 1,000 signals of the job are not taken yet. */
export type SignalOutcome = 'sent' | 'duplicate' | 'ended' | 'not-found' | 'full'

export interface SentSignal {
  outcome: SignalOutcome
  id: string
  /** Where the job is ready now, if the signal woke it up. */
  queue: string | null
  priority: number | null
  key: string | null
}

/** Sends a signal. `payload` is JSON text. */
export async function sendSignal(
  db: Queryable,
  request: { job: string; name: string; payload: string; key: string | null; by: string | null; id: string },
): Promise<SentSignal> {
  const [sent] = await run(db, sendSignalSql, request, (row: SentSignal) => row)
  if (sent === undefined) throw new Error('The database gave no answer for a signal')
  return sent
}
