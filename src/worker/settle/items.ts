import { span } from '../../core/span.ts'
import type { Suspension } from '../../flows/waiting/waiting.ts'
import type { DeadReason } from '../../jobs/dead/dead-letter.ts'
import type { Ended, Outcome } from '../attempt/outcome.ts'

/** The two lists by which a statement finds our rows. */
export function leasesOf(group: readonly Ended[]): { ids: string[]; leaseIds: string[] } {
  return {
    ids: group.map(({ held }) => held.job.id),
    leaseIds: [...new Set(group.map(({ held }) => held.job.leaseId))],
  }
}

/** One JSON object of results by id, built from texts that are JSON already; null if no job has a result. */
export function resultsOf(group: readonly Ended[]): string | null {
  const members = group.flatMap(({ held, outcome }) =>
    outcome.type === 'succeeded' && outcome.result !== undefined
      ? [`"${held.job.id}":${outcome.result}`]
      : [],
  )
  return members.length === 0 ? null : `{${members.join(',')}}`
}

/** The jobs of a group that wait. */
export function suspensionsOf(group: readonly Ended[]): Suspension[] {
  return group.flatMap(({ held, outcome, ranMs }) => {
    if (outcome.type !== 'waiting') return []
    const { waits, untilMs, untilAt, reason } = outcome
    return [{ id: held.job.id, lease: held.job.leaseId, waits, untilMs, untilAt, ranMs, reason }]
  })
}

/** One JSON object of records of steps by id; null if no job has records. */
export function stepsOf(group: readonly Ended[]): string | null {
  const members = group.flatMap(({ held, outcome }) => {
    const steps = recordsOf(outcome)
    return steps === undefined ? [] : [`"${held.job.id}":${steps}`]
  })
  return members.length === 0 ? null : `{${members.join(',')}}`
}

function recordsOf(outcome: Outcome): string | undefined {
  return outcome.type === 'succeeded' || outcome.type === 'cancelled' ? outcome.steps : undefined
}

/** Whether it ends by a statement of src/flows, because it is in a flow or has records of steps. */
export function isLinked({ held, outcome }: Ended): boolean {
  const isFinal = outcome.type === 'succeeded' || outcome.type === 'cancelled' || outcome.type === 'dead'
  return isFinal && ((held.job.more?.flowId ?? null) !== null || recordsOf(outcome) !== undefined)
}

/** The characters of its values that have no other limit. */
export function sizeOf(outcome: Outcome): number {
  const result = outcome.type === 'succeeded' ? outcome.result : undefined
  return (result?.length ?? 0) + (recordsOf(outcome)?.length ?? 0)
}

export function itemsOf(group: readonly Ended[]): string {
  return JSON.stringify(Object.fromEntries(group.map((ended) => [ended.held.job.id, itemOf(ended)])))
}

function itemOf({ held, outcome, ranMs }: Ended): object {
  const common = { lease: held.job.leaseId, ranMs }
  switch (outcome.type) {
    case 'retry': {
      const { delayMs, burnsAttempt, error, timedOut, movedMs, isSpared } = outcome
      const { fingerprint } = error
      return {
        ...common,
        delayMs,
        burns: burnsAttempt,
        spared: isSpared,
        class: error.class,
        error,
        fingerprint,
        outcome: timedOut ? 'timed-out' : 'failed',
        reason: movedMs === undefined ? undefined : `moved ${span(movedMs)} by the retry budget`,
      }
    }
    case 'dead': {
      const { reason, error, timedOut, crashes } = outcome
      return {
        ...common,
        reason,
        error,
        fingerprint: error.fingerprint,
        crashes,
        outcome: deadOutcomeOf(reason, timedOut),
      }
    }
    case 'crashed':
      return {
        ...common,
        outcome: 'crashed',
        delayMs: outcome.delayMs,
        reason: outcome.reason,
        crashes: 1,
      }
    case 'snoozed':
      return { ...common, outcome: 'snoozed', delayMs: outcome.delayMs, reason: outcome.reason }
    case 'released':
      return { ...common, outcome: 'released', reason: outcome.reason }
    case 'cancelled':
      return { ...common, reason: outcome.reason }
    case 'waiting':
    case 'succeeded':
    case 'completed':
    case 'handed-over':
      return common
  }
}

/** The outcome of the attempt that ended a job as a dead letter. */
function deadOutcomeOf(reason: DeadReason, timedOut: boolean): string {
  if (timedOut) return 'timed-out'
  if (reason === 'expired') return 'expired'
  return reason === 'quarantined' ? 'crashed' : 'failed'
}

/** Which endings share a statement. */
export function statementOf({ type }: Outcome): string {
  return type === 'snoozed' || type === 'crashed' ? 'released' : type
}

/** The ending without the values that the database refuses: the ending itself matters more than its details. */
export function withoutContent<One extends Ended>(ended: One): One {
  const { outcome } = ended
  const note = 'The database could not store what was here'
  switch (outcome.type) {
    case 'succeeded': {
      const result = JSON.stringify({ 'stint:unstorable': note })
      const steps = outcome.steps === undefined ? undefined : '[]'
      return { ...ended, outcome: { ...outcome, result, steps } }
    }
    case 'retry':
    case 'dead': {
      const { class: failureClass, fingerprint } = outcome.error
      const error = { class: failureClass, name: 'Error', message: note, causes: [], fingerprint }
      return { ...ended, outcome: { ...outcome, error } }
    }
    case 'crashed':
      return { ...ended, outcome: { ...outcome, reason: note } }
    case 'handed-over':
    case 'completed':
    case 'cancelled':
    case 'snoozed':
    case 'waiting':
    case 'released':
      return { ...ended, outcome: { type: 'released', reason: note } }
  }
}
