import type { Stint } from '../../client/stint.ts'
import type { Pause } from '../../jobs/pauses/pauses.ts'
import type { JobBrief as Brief } from '../../stats/read/briefs.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import type { SharedReads } from '../answers/shared-reads.ts'
import { aboutOverview, overviewFor } from '../answers/overview.ts'
import { everything } from '../auth/scope.ts'
import { workerList } from '../answers/worker-list.ts'
import type { State } from './delta.ts'

/** The resources that streams follow, as the API answers them. */
export interface LiveSource {
  overview(): Promise<LiveOverview>
  workers(): Promise<LiveView<NonNullable<State>>>
  jobs(ids: readonly string[]): Promise<readonly JobBrief[]>
  operations(ids: readonly string[]): Promise<readonly { id: string }[]>
  /** Calls `onStored` with the queues in which jobs are stored, until the returned function is called. */
  listen(onStored: (queues: readonly string[]) => void): Promise<() => Promise<void>>
}

/** A resource of which some callers see only a part. */
export interface LiveView<Whole> {
  /** For callers who may see all of `about`. */
  all: Whole
  about: readonly Resource[]
  /** For the other callers. */
  for(caller: Caller): NonNullable<State>
}

export type LiveOverview = LiveView<
  { readonly queues: readonly LiveQueue[] } & Readonly<Record<string, unknown>>
>

export interface LiveQueue {
  readonly queue: string
  readonly pauses: readonly Pick<Pause, 'kind' | 'key'>[]
}

/** What the streams compare and send of a job. */
export type JobBrief = Pick<Brief, 'id' | 'state' | 'queue' | 'kind' | 'key'>

/** The source of the streams: the same answers as those of the routes, read once for both. */
export function liveSource({ view }: Pick<Stint, 'view'>, reads: SharedReads): LiveSource {
  return {
    overview: async () => {
      const facts = await reads.overview()
      return {
        all: overviewFor(seesAll, facts),
        about: aboutOverview(facts),
        for: (caller) => overviewFor(caller, facts),
      }
    },
    workers: async () => {
      const fleet = await reads.workers.get()
      return {
        all: workerList(seesAll, fleet),
        about: [everything],
        for: (caller) => workerList(caller, fleet),
      }
    },
    jobs: (ids) => view.jobs(ids),
    operations: (ids) => view.operations(ids),
    listen: (onStored) => view.listen(onStored),
  }
}

const seesAll: Pick<Caller, 'can'> = { can: () => true }
