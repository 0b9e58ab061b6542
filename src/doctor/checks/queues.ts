import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveQueues } from '../live-queues.ts'

export const queues: Check = async (db) => {
  const live = await liveQueues(db)
  const idle = live.filter(({ isServed }) => !isServed).map(({ queue }) => queue)
  if (idle.length === 0)
    return {
      level: 'ok',
      title: 'Every queue with jobs has a worker',
      detail: `${live.length} ${live.length === 1 ? 'queue has' : 'queues have'} live jobs.`,
    }
  return {
    level: 'warn',
    title: `No live worker serves ${listing(idle)}`,
    detail:
      'Their jobs are waiting, or were running on a worker that is lost. Start a worker for these queues.',
    fix: 'stint work worker.ts',
  }
}
