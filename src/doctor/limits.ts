import { usualBloat } from '../schema/index-bloat.ts'

/** From where on the doctor minds. */
export interface Limits {
  /** The oldest server that Stint is made for, as server_version_num. */
  minServer: number
  /** How long a snapshot may be held. */
  snapshotWarnMs: number
  snapshotFailMs: number
  /** How far back, in transactions, a replication slot may hold. */
  slotXids: number
  /** Dead rows that nobody minds, and how often the count at which autovacuum begins may be in a table. */
  deadRows: number
  deadTimes: number
  notifyWarn: number
  notifyFail: number
  clockWarnMs: number
  clockFailMs: number
  xidWarn: number
  xidFail: number
  indexBytes: number
  indexWaste: number
  /** Days of history that must be there ahead. */
  daysAhead: number
  /** How long a deployment may take: until then workers of two versions are no surprise. */
  deployMs: number
  /** How late a schedule may be. */
  lateMs: number
}

const minuteMs = 60_000
const hourMs = 3_600_000

export const usualLimits: Limits = {
  minServer: 140_000,
  snapshotWarnMs: 10 * minuteMs,
  snapshotFailMs: 6 * hourMs,
  slotXids: 1_000_000,
  deadRows: 10_000,
  deadTimes: 5,
  notifyWarn: 0.1,
  notifyFail: 0.5,
  clockWarnMs: 2_000,
  clockFailMs: minuteMs,
  xidWarn: 500_000_000,
  xidFail: 1_200_000_000,
  indexBytes: usualBloat.minBytes,
  indexWaste: usualBloat.minWaste,
  daysAhead: 7,
  deployMs: 15 * minuteMs,
  lateMs: 2 * minuteMs,
}
