import type { Stint } from '../../client/stint.ts'
import type { Caller } from '../context.ts'
import type { LiveSource } from '../live.ts'
import type { Looks } from '../looks.ts'
import { aboutOverview, overviewFor } from '../overview.ts'
import { aboutWorkers, workerList } from '../worker-list.ts'

/** What is looked at for streams: the same that the routes answer, read once for both. */
export function liveSource(
  { view }: Pick<Stint, 'view'>,
  looks: Looks,
  { hasEar }: { hasEar: boolean },
): LiveSource {
  return {
    overview: async () => {
      const facts = await looks.overview()
      return {
        all: overviewFor(seesAll, facts),
        about: aboutOverview(facts),
        for: (caller) => overviewFor(caller, facts),
      }
    },
    workers: async () => {
      const fleet = await looks.workers.get()
      return {
        all: workerList(seesAll, fleet),
        about: aboutWorkers(fleet),
        for: (caller) => workerList(caller, fleet),
      }
    },
    jobs: (ids) => view.jobs(ids),
    operations: (ids) => view.operations(ids),
    listen: (onStored) => (hasEar ? view.listen(onStored) : Promise.resolve(() => Promise.resolve())),
  }
}

const seesAll: Pick<Caller, 'can'> = { can: () => true }
