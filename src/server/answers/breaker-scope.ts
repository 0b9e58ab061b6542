import type { BreakerInfo } from '../../limits/breakers/breaker.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import { everything, mayAll } from '../auth/scope.ts'

/** More covers than this are not read. */
const mostCovers = 100

/** What a breaker is about: its errors and counts come from all of it, so only a caller that may see all of it sees it. */
export function resourcesOf({ covers }: Pick<BreakerInfo, 'covers'>): Resource[] {
  const resources = covers.flatMap(({ queue, kinds }) =>
    kinds.length === 0 ? [{ queue }] : kinds.map((kind) => ({ queue, kind })),
  )
  return resources.length === 0 || covers.length >= mostCovers ? [everything] : resources
}

export function maySeeBreaker(caller: Pick<Caller, 'can'>, breaker: Pick<BreakerInfo, 'covers'>): boolean {
  return mayAll(caller) || resourcesOf(breaker).every((resource) => caller.can('view', resource))
}
