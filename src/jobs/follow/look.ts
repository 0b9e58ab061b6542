import { toJobProgress } from '../../core/job.ts'
import type { JobProgress, JobState } from '../../core/job.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { lookSql } from './look.sql.ts'
import { stepsSql } from './steps.sql.ts'

/** What callers who wait for a job learn about it. */
export interface Look {
  id: string
  state: JobState
  kind: string
  attempt: number
  /** Grows with every claim. */
  epoch: number
  runAt: Date
  /** Why it was cancelled or died. */
  reason: string | null
  progress: JobProgress | null
  /** Of a job that succeeded. */
  result: unknown
  /** Of a job that died. */
  error: unknown
  /** The steps of a job that succeeded or was cancelled, whose records are deleted; null for a job without steps. */
  steps: unknown
}

/** A job that has ended. */
export type Ending = Look & { state: 'succeeded' | 'cancelled' | 'dead' }

export function hasEnded(look: Look): look is Ending {
  return look.state === 'succeeded' || look.state === 'cancelled' || look.state === 'dead'
}

/** A step of a job, without its result. */
export interface StepLook {
  name: string
  /** 0 for the first call of this name. */
  n: number
  /** `step`, `sleep`, `signal` and others. */
  kind: string
  /** `open`: it waits or is not complete. */
  state: 'open' | 'done' | 'failed'
  tries: number
  startedAt: Date | null
  endedAt: Date | null
}

/** The current state of these jobs; jobs that do not exist (any more) are left out. */
export function readLooks(db: Queryable, ids: readonly string[]): Promise<Look[]> {
  return run(db, lookSql, { ids }, (row: Look) => ({ ...row, progress: toJobProgress(row.progress) }))
}

/** The most steps of a job that are read; a job has at most 10,000. */
const mostSteps = 10_000

/** The records of the steps of these jobs, by job. */
export async function readStepLooks(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly StepLook[]>> {
  const steps = new Map<string, StepLook[]>()
  await run(db, stepsSql, { ids, limit: mostSteps }, ({ job, type, ...step }: StepRow) => {
    const known = steps.get(job) ?? []
    steps.set(job, known)
    known.push({ ...step, kind: type })
  })
  return steps
}

interface StepRow extends Omit<StepLook, 'kind'> {
  job: string
  type: string
}

const stepStates: ReadonlySet<unknown> = new Set<StepLook['state']>(['open', 'done', 'failed'])

/** The steps in the history of an ended job. Another role may have written them: what is no step is left out. */
export function stepsOfHistory(stored: unknown): StepLook[] {
  return Array.isArray(stored) ? stored.flatMap((step: unknown) => stepOfHistory(step) ?? []) : []
}

/** Undefined for what is no step. */
export function stepOfHistory(step: unknown): StepLook | undefined {
  const [name, state] = [peek(step, 'name'), peek(step, 'state')]
  if (typeof name !== 'string' || !stepStates.has(state)) return undefined
  return {
    name,
    n: integerOr(peek(step, 'n'), 0),
    kind: textOr(peek(step, 'type'), 'step'),
    state: state as StepLook['state'],
    tries: integerOr(peek(step, 'tries'), 1),
    startedAt: timeIn(peek(step, 'startedAt')),
    endedAt: timeIn(peek(step, 'endedAt')),
  }
}

function integerOr(value: unknown, otherwise: number): number {
  return Number.isSafeInteger(value) ? (value as number) : otherwise
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

function timeIn(value: unknown): Date | null {
  const time = typeof value === 'string' || typeof value === 'number' ? new Date(value) : undefined
  return time === undefined || Number.isNaN(time.getTime()) ? null : time
}
