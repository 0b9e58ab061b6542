import type { ErrorGroupDetail, ErrorGroupItem, ErrorGroupPage } from '../../../src/server/api/error-group.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { ErrorGroupDetail, ErrorGroupItem, ErrorGroupPage }
export type GroupStatus = ErrorGroupItem['status']

/** `deadly`: only errors that killed jobs; otherwise also errors of attempts that are retried. */
export function errorGroupsQuery(
  { status, deadly }: { status: string; deadly: boolean },
  cursor: string | undefined,
): LiveQuery<ErrorGroupPage> {
  return {
    queryKey: ['error-groups', status, deadly, cursor ?? ''],
    queryFn: ({ signal }) =>
      get('error-groups', { status: status === 'all' ? undefined : status, deadly, cursor }, signal),
    topic: 'overview',
    anywayEveryMs: 10_000,
    keep: true,
  }
}

export function errorGroupQuery(group: string): LiveQuery<ErrorGroupDetail> {
  return {
    queryKey: ['error-group', group],
    queryFn: ({ signal }) => get(at('error-groups', group), {}, signal),
  }
}

export function triage(
  group: string,
  verb: 'resolve' | 'ignore' | 'reopen',
  body: object,
): Promise<ErrorGroupItem> {
  return send('POST', at('error-groups', group, verb), body)
}
