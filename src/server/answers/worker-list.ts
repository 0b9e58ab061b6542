import type { Fleet, WorkerView } from '../../stats/read/fleet/fleet.ts'
import type { WorkerList } from '../api/system.ts'
import type { Caller } from '../auth/caller.ts'
import { mayAll } from '../auth/scope.ts'
import { hidePasswords } from '../auth/secret-names.ts'
import { wire } from '../http/wire.ts'

/** The workers that the caller may see, as the API answers them. */
export function workerList(caller: Pick<Caller, 'can'>, fleet: Fleet): WorkerList {
  const { leader, services, asOf } = fleet
  const seesAll = mayAll(caller)
  return wire({
    items: workersFor(caller, fleet.workers).map((worker) => ({
      ...worker,
      queues: { ...worker.queues },
      kinds: [...worker.kinds],
    })),
    leader: leader === null ? null : { workerId: leader.workerId, since: leader.since, until: leader.until },
    // The message may name a queue or kind that the caller may not see.
    services: services.map((one) => ({
      ...one,
      lastError: one.lastError === null ? null : seesAll ? hidePasswords(one.lastError) : 'It failed',
    })),
    asOf,
  })
}

/**
 * Workers that serve a queue which this caller may see. For a worker that also serves other queues, only the visible
 * queues are listed, and no kinds: it is not known which kind belongs to which queue.
 */
export function workersFor(caller: Pick<Caller, 'can'>, workers: readonly WorkerView[]): WorkerView[] {
  return workers.flatMap((worker) => {
    const served = Object.entries(worker.queues)
    const queues = served.filter(([queue]) => caller.can('view', { queue }))
    if (queues.length === 0) return served.length === 0 && mayAll(caller) ? [worker] : []
    if (queues.length < served.length) return [{ ...worker, queues: Object.fromEntries(queues), kinds: [] }]
    const isVisible = (kind: string): boolean =>
      caller.can('view', { kind }) && queues.some(([queue]) => caller.can('view', { queue, kind }))
    return worker.kinds.every(isVisible) ? [worker] : [{ ...worker, kinds: worker.kinds.filter(isVisible) }]
  })
}
