import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { gaugesEveryMs } from '../../write/gauges.ts'
import { leaderStatusSql } from './leader-status.sql.ts'
import { servicesStatusSql } from './services-status.sql.ts'

/** The worker that leads upkeep. */
export interface LeaderStatus {
  workerId: string
  host: string | null
  pid: number | null
  since: Date
  /** Another worker takes over after this time, unless the leader renews it. */
  until: Date
}

/** The state of a service of upkeep. */
export interface ServiceStatus {
  name: string
  lastOkAt: Date | null
  /** How long the last successful pass took. */
  tookMs: number | null
  /** The error of its last pass; null if that succeeded. */
  lastError: string | null
  lastErrorAt: Date | null
}

export interface UpkeepStatus {
  /** Null if no worker leads. */
  leader: LeaderStatus | null
  services: ServiceStatus[]
}

/** What is led: the services of upkeep. */
export const upkeepName = 'upkeep'

const minuteMs = 60_000

/** How often the leader runs each service. */
export const serviceEveryMs = {
  partitions: 60 * minuteMs,
  'old-days': 10 * minuteMs,
  'short-kept': minuteMs,
  'dead-letters': 10 * minuteMs,
  fires: 10 * minuteMs,
  expired: 5 * minuteMs,
  flows: 1_000,
  'flow-repairs': 5 * minuteMs,
  gauges: gaugesEveryMs,
  'roll-up': 5 * minuteMs,
  'old-numbers': 60 * minuteMs,
  indexes: 10 * minuteMs,
  blobs: 60 * minuteMs,
}

export async function upkeepStatus(db: Queryable): Promise<UpkeepStatus> {
  const [leader = null] = await run(db, leaderStatusSql, { name: upkeepName }, toLeader)
  return { leader, services: await run(db, servicesStatusSql, {}, toService) }
}

interface LeaderRow {
  holder: string
  about: { host?: string; pid?: number }
  since: Date
  until: Date
}

function toLeader({ holder, about, since, until }: LeaderRow): LeaderStatus {
  return { workerId: holder, host: about.host ?? null, pid: about.pid ?? null, since, until }
}

interface ServiceRow {
  name: string
  last_ok_at: Date | null
  took_ms: number | null
  last_error: string | null
  last_error_at: Date | null
}

function toService(row: ServiceRow): ServiceStatus {
  return {
    name: row.name,
    lastOkAt: row.last_ok_at,
    tookMs: row.took_ms,
    lastError: row.last_error,
    lastErrorAt: row.last_error_at,
  }
}
