import type { LimitHolder, LimitInfo } from '../../limits/manage/read.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import { AllOf, mayAll } from '../auth/scope.ts'
import { shownText } from './job-item.ts'

/** What a limit is about: all jobs of its queues, or of some of their kinds. */
export function limitResources({ covers }: Pick<LimitInfo, 'covers'>): Resource[] {
  return covers.flatMap(({ queue, kinds }) =>
    kinds === null ? [{ queue }] : kinds.map((kind) => ({ queue, kind })),
  )
}

/**
 * Whether a caller may see a limit. Its figures count the jobs of everything that it covers, so the caller must see all of
 * that; one that covers nothing is shown to those who see everything.
 */
export function maySeeLimit(caller: Pick<Caller, 'can'>, limit: Pick<LimitInfo, 'covers'>): boolean {
  const resources = limitResources(limit)
  return resources.length === 0
    ? mayAll(caller)
    : resources.every((resource) => caller.can('view', new AllOf(resource)))
}

export function mayKnowKey(
  caller: Pick<Caller, 'can'>,
  { covers }: Pick<LimitInfo, 'covers'>,
  key: string,
): boolean {
  return covers.every(({ queue }) => caller.can('view', { queue, key }))
}

/** A limit without keys and jobs that the caller may not see. A reason may quote a password. */
export function shownLimit<Shown extends LimitInfo & { holders?: LimitHolder[] }>(
  caller: Pick<Caller, 'can'>,
  limit: Shown,
): Shown {
  const { override, keys, holders } = limit
  return {
    ...limit,
    override: override === null ? null : { ...override, reason: shownText(override.reason) },
    keys: keys.filter(({ key }) => mayKnowKey(caller, limit, key)),
    ...(holders === undefined
      ? {}
      : { holders: holders.filter(({ queue, kind, key }) => caller.can('view', { queue, kind, key })) }),
  }
}
