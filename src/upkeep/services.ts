import { pruneUnused } from '../blobs/prune.ts'
import type { BlobStore } from '../blobs/store.ts'
import { ensurePartitions } from '../jobs/ensure-partitions.ts'
import { Gauges, gaugesEveryMs } from '../numbers/gauges.ts'
import type { GaugesConfig } from '../numbers/gauges.ts'
import { rollUp } from '../numbers/roll-up.ts'
import { pruneDead } from './dead.ts'
import { pruneExpired } from './expired.ts'
import { pruneFires } from './fires.ts'
import { dropOldDays } from './old-days.ts'
import { pruneNumbers } from './old-numbers.ts'
import { rebuildIndexes, rebuildPassMs } from './rebuild-indexes.ts'
import type { Service } from './service.ts'
import { ShortKept } from './short-kept.ts'

const minuteMs = 60_000
const hourMs = 3_600_000

export interface ServicesConfig extends GaugesConfig {
  blobs?: BlobStore | undefined
}

/** What is done under the lead. A new service is one more line here. */
export function usualServices({ blobs, stirredAt }: ServicesConfig): Service[] {
  const shortKept = new ShortKept()
  const gauges = new Gauges({ stirredAt })
  return [
    { name: 'partitions', everyMs: hourMs, runOnce: (db) => ensurePartitions(db) },
    { name: 'old-days', everyMs: 10 * minuteMs, runOnce: dropOldDays },
    { name: 'short-kept', everyMs: minuteMs, runOnce: (db, context) => shortKept.prune(db, context) },
    { name: 'dead-letters', everyMs: 10 * minuteMs, runOnce: pruneDead },
    { name: 'fires', everyMs: 10 * minuteMs, runOnce: pruneFires },
    { name: 'expired', everyMs: 5 * minuteMs, runOnce: pruneExpired },
    { name: 'gauges', everyMs: gaugesEveryMs, runOnce: (db) => gauges.turn(db) },
    { name: 'roll-up', everyMs: 5 * minuteMs, runOnce: rollUp },
    { name: 'old-numbers', everyMs: hourMs, runOnce: pruneNumbers },
    { name: 'indexes', everyMs: 10 * minuteMs, passMs: rebuildPassMs, runOnce: rebuildIndexes },
    ...(blobs === undefined ? [] : [blobService(blobs)]),
  ]
}

/** Orphans are left to pruneBlobs(): in a store that two schemas share, the blobs of one look like orphans to the other. */
function blobService(store: BlobStore): Service {
  return {
    name: 'blobs',
    everyMs: hourMs,
    runOnce: async (db, { signal, onPassedBy }) => {
      const onRefused = (key: string, error: unknown): void => {
        onPassedBy(`blob ${key}`, error)
      }
      await pruneUnused(db, store, { signal, onRefused })
    },
  }
}
