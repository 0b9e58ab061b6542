import { mergeClaims } from '../../../jobs/leases/claim-figures.ts'
import type { ClaimFigures } from '../../../jobs/leases/claim-figures.ts'
import { toWanted } from '../../../jobs/leases/wanted.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { aboutWorker } from './workers.ts'
import type { LiveWorker } from './workers.ts'
import { upkeepStatus } from './upkeep.ts'
import type { LeaderStatus, ServiceStatus } from './upkeep.ts'
import { percentIn } from '../briefs.ts'
import { leasesSql } from './leases.sql.ts'
import { fleetSql } from './fleet.sql.ts'

/** A worker that is live, or was lost within the last hour. */
export interface WorkerView extends LiveWorker {
  /** Jobs that it holds. */
  running: number
  rssBytes: number | null
  /** Its last heartbeat. */
  renewedAt: Date
  /** Late: it missed heartbeats, and other workers may take its jobs when its lease ends. Lost: they may do so now. */
  status: 'active' | 'late' | 'lost'
  /** How its process ended, if its supervisor or the process itself reported that. */
  death: string | null
  /** It leads upkeep. */
  isLeader: boolean
}

export interface Fleet {
  /** Up to 500, the live ones first. */
  workers: WorkerView[]
  leader: LeaderStatus | null
  services: ServiceStatus[]
  /** Of the live workers, at their last heartbeats. */
  claims: ClaimFigures
  asOf: Date
}

interface WorkerRow extends Omit<
  WorkerView,
  'id' | 'host' | 'pid' | 'version' | 'stintVersion' | 'queues' | 'kinds' | 'isLeader' | 'wanted'
> {
  wanted: unknown
  claims: unknown
  asOf: Date
  id: string | null
  about: unknown
}

const mostWorkers = 500
/** Jobs that are read, of all workers together. */
const mostRunning = 10_000
const lostWithinMs = 3_600_000

/** The workers, the one that leads upkeep, and the state of its services. */
export async function readFleet(db: Queryable): Promise<Fleet> {
  const { leader, services } = await upkeepStatus(db)
  const request = { lostWithinMs, mostRunning, limit: mostWorkers }
  const rows = await run(db, fleetSql, request, (row: WorkerRow) => row)
  return {
    workers: rows.flatMap((row) => toWorker(row, leader?.workerId)),
    leader,
    services,
    claims: mergeClaims(rows.flatMap(({ status, claims }) => (status === 'lost' ? [] : [claims]))),
    asOf: rows[0]?.asOf ?? new Date(),
  }
}

function toWorker({ id, about, ...row }: WorkerRow, leader: string | undefined): WorkerView[] {
  if (id === null) return []
  const { running, rssBytes, startedAt, renewedAt, leaseUntil, status, death, wanted } = row
  return [
    {
      id,
      ...aboutWorker(about),
      running,
      rssBytes,
      startedAt,
      renewedAt,
      leaseUntil,
      status,
      death,
      wanted: toWanted(wanted),
      isLeader: id === leader,
    },
  ]
}

/** A running job, and the end of its worker's lease. */
export interface LeaseView {
  jobId: string
  kind: string
  queue: string
  key: string | null
  workerId: string
  epoch: number
  attempt: number
  startedAt: Date | null
  /** Null if its worker's row is deleted. */
  leaseUntil: Date | null
  /** Percent, as its handler last reported. */
  progress: number | null
  cancelRequestedAt: Date | null
}

export interface Leases {
  /** Up to 200, ordered by the end of their lease. */
  items: LeaseView[]
  more: boolean
}

const mostLeases = 200

export async function readLeases(db: Queryable): Promise<Leases> {
  const request = { seen: mostRunning, limit: mostLeases + 1 }
  const read = (row: LeaseView): LeaseView => ({ ...row, progress: percentIn(row.progress) })
  const items = await run(db, leasesSql, request, read)
  return { items: items.slice(0, mostLeases), more: items.length > mostLeases }
}
