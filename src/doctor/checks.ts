import type { Check } from './check.ts'
import { autovacuum } from './checks/autovacuum.ts'
import { breakers } from './checks/breakers.ts'
import { claims } from './checks/claims.ts'
import { clock } from './checks/clock.ts'
import { deadRows } from './checks/dead-rows.ts'
import { fsync, fullPageWrites, synchronousCommit } from './checks/durability.ts'
import { flowCounts } from './checks/flow-counts.ts'
import { flowEndings } from './checks/flow-endings.ts'
import { heldFlows } from './checks/held-flows.ts'
import { indexBloat } from './checks/index-bloat.ts'
import { invalidIndexes } from './checks/invalid-indexes.ts'
import { kinds } from './checks/kinds.ts'
import { limits } from './checks/limits.ts'
import { notifyQueue } from './checks/notify-queue.ts'
import { parked } from './checks/parked.ts'
import { partitions } from './checks/partitions.ts'
import { pauses } from './checks/pauses.ts'
import { queues } from './checks/queues.ts'
import { schedules } from './checks/schedules.ts'
import { schema } from './checks/schema.ts'
import { server } from './checks/server.ts'
import { snapshots } from './checks/snapshots.ts'
import { upkeep } from './checks/upkeep.ts'
import { versions } from './checks/versions.ts'
import { workerClocks } from './checks/worker-clocks.ts'
import { xidAge } from './checks/xid-age.ts'

/** All checks, in the order of the report. A new check is one more line here. */
export const checks = {
  server,
  fsync,
  'full-page-writes': fullPageWrites,
  'synchronous-commit': synchronousCommit,
  clock,
  'worker-clocks': workerClocks,
  schema,
  'invalid-indexes': invalidIndexes,
  'index-bloat': indexBloat,
  partitions,
  autovacuum,
  'dead-rows': deadRows,
  snapshots,
  'xid-age': xidAge,
  'notify-queue': notifyQueue,
  upkeep,
  queues,
  pauses,
  claims,
  kinds,
  versions,
  schedules,
  limits,
  breakers,
  parked,
  'held-flows': heldFlows,
  'flow-endings': flowEndings,
  'flow-counts': flowCounts,
} satisfies Record<string, Check>

export type CheckName = keyof typeof checks

export const checkNames = Object.keys(checks) as CheckName[]
