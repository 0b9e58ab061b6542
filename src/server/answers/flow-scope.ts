import { missingFlow } from '../../client/flows/flow-verbs.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import { mayAll } from '../auth/scope.ts'
import type { ConsoleParts } from '../context.ts'
import { resourceOf } from './job-item.ts'

/**
 * The flows that a caller may see: those of which it may see every job. A flow whose jobs are all gone, or are too many to look
 * through, is shown only to a caller that may see all jobs.
 */
export async function visibleFlows<Item extends { id: string }>(
  caller: Caller,
  { stint }: Pick<ConsoleParts, 'stint'>,
  flows: Item[],
): Promise<Item[]> {
  if (caller.isNarrowed === false || mayAll(caller)) return flows
  const resources = await stint.flows.resources(flows.map(({ id }) => id))
  return flows.filter(({ id }) => {
    const own = resources.get(id) ?? []
    return own.length > 0 && own.every((resource) => caller.can('view', resourceOf(resource)))
  })
}

/** The flow, if the caller may see it. The answer is the same for one that is hidden and one that does not exist. */
export async function visibleFlow<Found extends { id: string }>(
  caller: Caller,
  parts: Pick<ConsoleParts, 'stint'>,
  id: string,
  found: Found | undefined,
): Promise<Found> {
  const [visible] = found === undefined ? [] : await visibleFlows(caller, parts, [found])
  return visible ?? missingFlow(id)
}

/** The jobs that an act on a flow concerns; none needs to be asked about for a caller that may act on all jobs. */
export async function actingResources(
  caller: Caller,
  { stint }: Pick<ConsoleParts, 'stint'>,
  { id, verb }: { id: string; verb: 'cancel' | 'replay' | 'rerun' },
): Promise<Resource[]> {
  if (caller.isNarrowed === false || mayAll(caller, 'flow')) return []
  const own = (await stint.flows.resources([id])).get(id) ?? []
  // A replay reaches the flows that dead jobs of this one made.
  const deeper = verb === 'replay' ? await stint.flows.deadResources(id) : []
  return [...own, ...deeper].map(resourceOf)
}
