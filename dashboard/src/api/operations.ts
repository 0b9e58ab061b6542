import type {
  NewOperation,
  Operation,
  OperationDetail,
  OperationJobPage,
  OperationPage,
  Preview,
} from '../../../src/server/api/operation.ts'
import type { JobOutcome, OperationAction } from '../../../src/core/operation.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type {
  NewOperation,
  Operation,
  OperationAction,
  OperationDetail,
  OperationJobPage,
  OperationPage,
  Preview,
}

export function operationsQuery(cursor: string | undefined): LiveQuery<OperationPage> {
  return {
    queryKey: ['operations', cursor ?? ''],
    queryFn: ({ signal }) => get('operations', { cursor }, signal),
    topic: 'overview',
    everyMs: 3_000,
    anywayEveryMs: 3_000,
    keep: true,
  }
}

export function operationQuery(id: string): LiveQuery<OperationDetail> {
  return {
    queryKey: ['operation', id],
    queryFn: ({ signal }) => get(at('operations', id), {}, signal),
    topic: `operation:${id}`,
    everyMs: 2_000,
  }
}

/** The most ids that an operation takes. */
export const mostIds = 1_000

/** The newest jobs of an operation that have this outcome. */
export function operationJobs(id: string, outcome: JobOutcome): Promise<OperationJobPage> {
  return get(at('operations', id, 'jobs'), { outcome, limit: mostIds })
}

export function previewOperation(operation: NewOperation): Promise<Preview> {
  return send('POST', 'operations', { ...operation, dryRun: true })
}

export function startOperation(operation: NewOperation): Promise<OperationDetail> {
  return send('POST', 'operations', operation)
}

export function steer(
  id: string,
  verb: 'abort' | 'pause' | 'resume' | 'pace',
  body: object = {},
): Promise<OperationDetail> {
  return send('POST', at('operations', id, verb), body)
}

export function isOver(operation: Operation): boolean {
  return ['done', 'aborted', 'stopped'].includes(operation.state)
}
