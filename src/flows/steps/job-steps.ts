import { textIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { readLooks, stepOfHistory } from '../../jobs/follow/look.ts'
import type { StepState } from './steps.ts'
import { jobStepsSql } from './job-steps.sql.ts'

/** A call of a handler's context that is recorded: `ctx.step()`, `ctx.sleep()`, `ctx.waitForSignal()` and others. */
export interface JobStep {
  name: string
  /** 0 for the first call of this name. */
  n: number
  /** `step`, `tx`, `each`, `sleep`, `signal`, `version`, `approval`. */
  type: string
  /** `open`: it waits or is not complete. */
  state: StepState
  tries: number
  startedAt: Date | null
  /** Null while it is open. */
  endedAt: Date | null
  /** When its wait is over, if it has an end. */
  until: Date | null
  /** What it returned; undefined if it returned nothing, or if the result was left out. */
  result: unknown
  /** Its result was left out, because the results of the job are too large together. */
  isCut: boolean
  /** Why it failed. */
  error: { name: string; message: string } | null
}

export interface JobStepsRequest {
  id: string
  /** The last so many. */
  limit: number
  /** The size of all results together. */
  maxBytes: number
}

/** The steps of a job, in the order in which they were recorded; undefined if there is no such job. */
export async function readJobSteps(db: Queryable, request: JobStepsRequest): Promise<JobStep[] | undefined> {
  // The records first: a job that ends in between has them in its history then.
  const recorded = await run(db, jobStepsSql, { ...request }, toJobStep)
  const [look] = await readLooks(db, [request.id])
  if (look === undefined) return undefined
  const isInHistory = look.state === 'succeeded' || look.state === 'cancelled'
  return isInHistory ? ofHistory(look.steps).slice(-request.limit) : recorded
}

type Row = JobStep & { hasResult: boolean }

function toJobStep({ hasResult, result, error, state, endedAt, ...row }: Row): JobStep {
  return {
    ...row,
    state,
    endedAt: state === 'open' ? null : endedAt,
    result: hasResult ? result : undefined,
    error: errorIn(error),
  }
}

/** The worker stores the steps of a job that ends; another role may have written them. */
function ofHistory(stored: unknown): JobStep[] {
  if (!Array.isArray(stored)) return []
  return stored.flatMap((step: unknown) => {
    const known = stepOfHistory(step)
    if (known === undefined) return []
    const { kind, endedAt, ...look } = known
    return {
      ...look,
      type: kind,
      endedAt: look.state === 'open' ? null : endedAt,
      until: null,
      result: peek(step, 'result'),
      isCut: peek(step, 'isCut') === true,
      error: errorIn(peek(step, 'error')),
    }
  })
}

function errorIn(stored: unknown): JobStep['error'] {
  const message = textIn(stored, 'message')
  return message === null ? null : { name: textIn(stored, 'name') ?? 'Error', message }
}
