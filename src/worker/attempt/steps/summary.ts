import type { StepRecord, StepType } from '../../../flows/steps/steps.ts'

/** What people see of a record. */
export interface StepSummary {
  name: string
  n: number
  type: StepType
  state: string
  tries: number
  startedAt: string | undefined
  endedAt: string | undefined
  result: unknown
  error: { name: string; message: string } | undefined
}

export function summaryOf({ name, n, type, state, tries, result, ...record }: StepRecord): StepSummary {
  const { startedAt, endedAt, error } = record
  return {
    ...{ name, n, type, state, tries, result },
    startedAt: isoOf(startedAt),
    endedAt: isoOf(endedAt),
    error: error === null ? undefined : { name: error.name, message: error.message },
  }
}

function isoOf(ms: number | null): string | undefined {
  return ms === null ? undefined : new Date(ms).toISOString()
}
