import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { aboutWorker } from './workers.ts'
import type { LiveWorker } from './workers.ts'
import { upkeepStatus } from './upkeep.ts'
import type { LeaderStatus, ServiceStatus } from './upkeep.ts'
import { percentIn } from '../briefs.ts'
import { leasesSql } from './leases.sql.ts'
import { fleetSql } from './fleet.sql.ts'

/** A worker that lives, or was lost a short while ago. */
export interface WorkerView extends LiveWorker {
  /** Jobs that it has in hand. */
  running: number
  rssBytes: number | null
  /** Its last heartbeat. */
  renewedAt: Date
  /** Late: it missed heartbeats, and other workers may take its jobs when its lease ends. Lost: they may do so now. */
  status: 'active' | 'late' | 'lost'
  /** How its process ended, if its supervisor or the process itself reported that. */
  death: string | null
  /** It does upkeep for all. */
  isLeader: boolean
}

export interface Fleet {
  /** Up to 500, those that live first. */
  workers: WorkerView[]
  leader: LeaderStatus | null
  services: ServiceStatus[]
  asOf: Date
}

interface WorkerRow extends Omit<
  WorkerView,
  'id' | 'host' | 'pid' | 'version' | 'stintVersion' | 'queues' | 'kinds' | 'isLeader'
> {
  asOf: Date
  id: string | null
  about: unknown
}

const mostWorkers = 500
/** Jobs that are looked at, of all workers together. */
const mostRunning = 10_000
const lostWithinMs = 3_600_000

/** The workers, who of them leads, and how upkeep fares. */
export async function readFleet(db: Queryable): Promise<Fleet> {
  const { leader, services } = await upkeepStatus(db)
  const request = { lostWithinMs, mostRunning, limit: mostWorkers }
  const rows = await run(db, fleetSql, request, (row: WorkerRow) => row)
  return {
    workers: rows.flatMap((row) => toWorker(row, leader?.workerId)),
    leader,
    services,
    asOf: rows[0]?.asOf ?? new Date(),
  }
}

function toWorker({ id, about, ...row }: WorkerRow, leader: string | undefined): WorkerView[] {
  if (id === null) return []
  const { running, rssBytes, startedAt, renewedAt, leaseUntil, status, death } = row
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
      isLeader: id === leader,
    },
  ]
}

/** A job that runs, and until when its worker has the right to it. */
export interface LeaseView {
  jobId: string
  kind: string
  queue: string
  key: string | null
  workerId: string
  epoch: number
  attempt: number
  startedAt: Date | null
  /** Null where its worker is not there any more. */
  leaseUntil: Date | null
  /** Percent, as its handler last said. */
  progress: number | null
  cancelRequestedAt: Date | null
}

export interface Leases {
  /** Up to 200, those that end first first. */
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
