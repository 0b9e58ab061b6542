import type { BreakerDetail, BreakerItem, BreakerList } from '../../../src/server/api/breaker.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { BreakerDetail, BreakerItem, BreakerList }

export function breakersQuery({
  cursor,
  queue,
}: {
  cursor?: string | undefined
  queue?: string | undefined
}): LiveQuery<BreakerList> {
  return {
    queryKey: ['breakers', cursor ?? '', queue ?? ''],
    queryFn: ({ signal }) => get('breakers', { cursor, queue, limit: 200 }, signal),
    everyMs: 2_000,
    keep: true,
  }
}

export function breakerQuery(name: string): LiveQuery<BreakerDetail> {
  return {
    queryKey: ['breaker', name],
    queryFn: ({ signal }) => get(at('breakers', name), {}, signal),
    everyMs: 2_000,
  }
}

export type BreakerVerb = 'probe' | 'open' | 'close' | 'reset'

export function actOnBreaker(name: string, verb: BreakerVerb, body: object): Promise<BreakerDetail> {
  return send('POST', at('breakers', name, verb), body)
}
