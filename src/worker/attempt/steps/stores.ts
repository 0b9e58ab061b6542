import type { Database } from '../../../db/database.ts'
import type { Announcer } from '../../../jobs/wake-up/announcer.ts'
import { ChildStore } from './child-store.ts'
import { Records } from './records.ts'

/** What the recorded calls of all attempts of a process read and write. */
export function newStores(
  db: Database,
  { leaseMs, announcer }: { leaseMs: number; announcer: Pick<Announcer, 'stored'> },
): { records: Records; children: ChildStore } {
  return { records: new Records(db, { leaseMs }), children: new ChildStore(db, { leaseMs, announcer }) }
}
