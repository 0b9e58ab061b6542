import type {
  NewOperation,
  Operation,
  OperationDetail,
  OperationJobPage,
  Preview,
} from '../../../src/server/api/operation.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { NewOperation, Operation, OperationDetail, OperationJobPage, Preview }
export type OperationAction = NewOperation['action']

export interface OperationPage {
  items: Operation[]
  next: string | null
  asOf: string
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

/** As many as an operation takes by their ids. */
export const mostIds = 1_000

/** The newest of its jobs that this became of. */
export function operationJobs(
  id: string,
  outcome: 'acted' | 'skipped' | 'failed',
): Promise<OperationJobPage> {
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
