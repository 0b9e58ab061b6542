import type { StepKey, StepState, StepType } from '../../../flows/steps/steps.ts'

/** A recorded call of a handler's context. */
export interface ProbedCall extends StepKey {
  readonly jobId: string
  readonly kind: string
  readonly type: StepType
}

/** How `stint/testing` sees the steps of handlers, replaces their functions, and ends a worker behind one of them. */
export interface StepProbe {
  /** The worker has lost its memory: no recorded call of its handlers returns any more. */
  readonly isDropped: boolean
  /** Calls the function of a step, or what stands in for it. `page` is the cursor of a page of ctx.each(). */
  run<Value>(call: ProbedCall & { page: string }, real: () => Value, given: readonly unknown[]): Value
  /** The record of a call is stored. */
  recorded(call: ProbedCall & { state: StepState }): void
}

/** The function of a step, or what stands in for it in a test. */
export function probed<Args extends readonly unknown[], Value>(
  { probe, held: { job } }: Probed,
  real: (...args: Args) => Value,
  { name, n, type, page = '' }: Pick<ProbedCall, 'name' | 'n' | 'type'> & { page?: string },
): (...args: Args) => Value {
  if (probe === undefined) return real
  const call = { jobId: job.id, kind: job.kind, name, n, type, page }
  return (...args) => probe.run(call, () => real(...args), args)
}

interface Probed {
  readonly probe: StepProbe | undefined
  readonly held: { readonly job: { readonly id: string; readonly kind: string } }
}

/** The result of a recorded call. It never settles once the worker has lost its memory, as after a kill. */
export async function unlessDropped<Value>(probe: StepProbe, result: Promise<Value>): Promise<Value> {
  try {
    return await result
  } finally {
    if (probe.isDropped) await new Promise(() => undefined)
  }
}
