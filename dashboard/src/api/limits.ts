import type {
  KeyRule,
  KeyRuleList,
  LimitDetail,
  LimitItem,
  LimitList,
} from '../../../src/server/api/limit.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { KeyRule, KeyRuleList, LimitDetail, LimitItem, LimitList }

export function limitsQuery({
  cursor,
  queue,
}: {
  cursor?: string | undefined
  queue?: string | undefined
}): LiveQuery<LimitList> {
  return {
    queryKey: ['limits', cursor ?? '', queue ?? ''],
    queryFn: ({ signal }) => get('limits', { cursor, queue, limit: 200 }, signal),
    everyMs: 2_000,
    keep: true,
  }
}

export function limitQuery(name: string): LiveQuery<LimitDetail> {
  return {
    queryKey: ['limit', name],
    queryFn: ({ signal }) => get(at('limits', name), {}, signal),
    everyMs: 2_000,
  }
}

export function keyRulesQuery(name: string, after: string | undefined): LiveQuery<KeyRuleList> {
  return {
    queryKey: ['key-rules', name, after ?? ''],
    queryFn: ({ signal }) => get(at('limits', name, 'keys'), { cursor: after, limit: 20 }, signal),
    keep: true,
  }
}

/** The server refuses a change of a limit that has changed since it was shown. */
export function overrideLimit({ name, version }: LimitDetail, body: object): Promise<LimitDetail> {
  return send('PUT', at('limits', name), body, { 'if-match': `"${version}"` })
}

export function clearLimit({ name, version }: LimitDetail): Promise<LimitDetail> {
  return send('DELETE', at('limits', name), undefined, { 'if-match': `"${version}"` })
}

export function setKeyRule(name: string, key: string, body: object): Promise<KeyRule> {
  return send('PUT', at('limits', name, 'keys', key), body)
}

export function clearKeyRule(name: string, key: string): Promise<unknown> {
  return send('DELETE', at('limits', name, 'keys', key))
}

export function deleteLimit(name: string): Promise<unknown> {
  return send('POST', at('limits', name, 'delete'))
}
