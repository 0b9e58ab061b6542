import { pruneUnused } from '../../jobs/blobs/prune.ts'
import type { BlobStore } from '../../jobs/blobs/store.ts'
import { ensurePartitions } from '../../jobs/ensure-partitions.ts'
import { serviceEveryMs } from '../../stats/read/fleet/upkeep.ts'
import { Gauges } from '../../stats/write/gauges.ts'
import type { GaugesConfig } from '../../stats/write/gauges.ts'
import { rollUp } from '../../stats/write/roll-up.ts'
import { FlowUpkeep } from './flows.ts'
import type { FlowAnnouncer } from './flows.ts'
import { pruneDead } from './prune/dead.ts'
import { pruneExpired } from './prune/expired.ts'
import { pruneFires } from './prune/fires.ts'
import { dropOldDays } from './prune/old-days.ts'
import { pruneNumbers } from './prune/old-numbers.ts'
import { rebuildIndexes, rebuildPassMs } from './rebuild-indexes.ts'
import type { Service } from './service.ts'
import { ShortKept } from './prune/short-kept.ts'

export interface ServicesConfig extends GaugesConfig {
  blobs?: BlobStore | undefined
  /** Tells workers what a pass has released. */
  announcer?: FlowAnnouncer | undefined
}

/** What the leader does. A new service is one more line here and one in `serviceEveryMs`. */
export function usualServices(config: ServicesConfig): Service[] {
  return workOf(config).map((work) => ({ ...work, everyMs: serviceEveryMs[work.name] }))
}

/** A service without its interval; `serviceEveryMs` has it, for the doctor too. */
type Work = Omit<Service, 'name' | 'everyMs'> & { name: keyof typeof serviceEveryMs }

function workOf({ blobs, stirredAt, announcer }: ServicesConfig): Work[] {
  const shortKept = new ShortKept()
  const flows = new FlowUpkeep({ announcer, stirredAt })
  const gauges = new Gauges({ stirredAt })
  return [
    { name: 'partitions', runOnce: (db) => ensurePartitions(db) },
    { name: 'old-days', runOnce: dropOldDays },
    { name: 'short-kept', runOnce: (db, context) => shortKept.prune(db, context) },
    { name: 'dead-letters', runOnce: pruneDead },
    { name: 'fires', runOnce: pruneFires },
    { name: 'expired', runOnce: pruneExpired },
    { name: 'flows', runOnce: (db, context) => flows.tend(db, context) },
    { name: 'flow-repairs', runOnce: (db, context) => flows.repair(db, context) },
    { name: 'gauges', runOnce: (db) => gauges.turn(db) },
    { name: 'roll-up', runOnce: rollUp },
    { name: 'old-numbers', runOnce: pruneNumbers },
    { name: 'indexes', passMs: rebuildPassMs, runOnce: rebuildIndexes },
    ...(blobs === undefined ? [] : [blobService(blobs)]),
  ]
}

/** Orphans are left to pruneBlobs(): in a store that two schemas share, the blobs of one look like orphans to the other. */
function blobService(store: BlobStore): Work {
  return {
    name: 'blobs',
    runOnce: async (db, { signal, onPassedBy }) => {
      const onRefused = (key: string, error: unknown): void => {
        onPassedBy(`blob ${key}`, error)
      }
      await pruneUnused(db, store, { signal, onRefused })
    },
  }
}
