import type { Fleet } from '../view/fleet.ts'
import type { WorkerList } from './api/system.ts'
import { wire } from './wire.ts'

/** The workers as the API answers them. */
export function workerList({ workers, leader, services, asOf }: Fleet): WorkerList {
  return wire({
    items: workers.map((worker) => ({ ...worker, queues: { ...worker.queues }, kinds: [...worker.kinds] })),
    leader: leader === null ? null : { workerId: leader.workerId, since: leader.since, until: leader.until },
    services,
    asOf,
  })
}
