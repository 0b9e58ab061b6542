import type {
  AuditItem,
  AuditPage,
  Finding,
  KindList,
  LeaseItem,
  LeaseList,
  Me,
  SystemReport,
  WorkerItem,
  WorkerList,
} from '../../../src/server/api/system.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type {
  AuditItem,
  AuditPage,
  Finding,
  KindList,
  LeaseItem,
  LeaseList,
  Me,
  SystemReport,
  WorkerItem,
  WorkerList,
}

export function meQuery(): LiveQuery<Me> {
  return { queryKey: ['me'], queryFn: ({ signal }) => get('me', {}, signal), everyMs: 60_000 }
}

export function workersQuery(): LiveQuery<WorkerList> {
  return {
    queryKey: ['workers'],
    queryFn: ({ signal }) => get('workers', {}, signal),
    topic: 'workers',
    merge: { items: 'id', services: 'name' },
  }
}

export type WorkerVerb = 'pause' | 'resume' | 'drain'

export function orderWorker(id: string, verb: WorkerVerb, body: object): Promise<unknown> {
  return send('POST', at('workers', id, verb), body)
}

export function leasesQuery(): LiveQuery<LeaseList> {
  return { queryKey: ['leases'], queryFn: ({ signal }) => get('leases', {}, signal), topic: 'workers' }
}

export function systemQuery(): LiveQuery<SystemReport> {
  return {
    queryKey: ['system'],
    queryFn: ({ signal }) => get('system', {}, signal),
    // Until the first run of the doctor has ended.
    everyMs: (report) => (report?.findingsAsOf === null ? 1_000 : 30_000),
  }
}

export function kindsQuery(): LiveQuery<KindList> {
  return { queryKey: ['kinds'], queryFn: ({ signal }) => get('kinds', {}, signal), everyMs: 60_000 }
}

export interface AuditFilter {
  actor?: string | undefined
  action?: string | undefined
  target?: string | undefined
}

export function auditQuery(filter: AuditFilter, cursor: string | undefined): LiveQuery<AuditPage> {
  return {
    queryKey: ['audit', filter, cursor ?? ''],
    queryFn: ({ signal }) => get('audit', { ...filter, cursor }, signal),
    keep: true,
  }
}
