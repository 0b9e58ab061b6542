import { usualBloat } from '../schema/index-bloat.ts'

/** The thresholds from which on a check warns or fails. */
export interface Limits {
  /** The oldest server that Stint supports, as server_version_num. */
  minServer: number
  /** How long a snapshot may be held. */
  snapshotWarnMs: number
  snapshotFailMs: number
  /** The age, in transactions, up to which a replication slot may hold rows. */
  slotXids: number
  /** A table with at most this many dead rows is fine. */
  deadRows: number
  /** A table may have this many times the dead rows at which autovacuum begins. */
  deadTimes: number
  notifyWarn: number
  notifyFail: number
  clockWarnMs: number
  clockFailMs: number
  xidWarn: number
  xidFail: number
  indexBytes: number
  indexWaste: number
  /** How many days ahead the job history must have partitions. */
  daysAhead: number
  /** How long a deployment may take: until then workers of two versions are expected. */
  deployMs: number
  /** How late a schedule may be. */
  lateMs: number
  /** How long a pause may hold a ready job. */
  pausedMs: number
  /** How long a breaker may be open. */
  breakerOpenMs: number
  /** How long a flow may wait for the replay of a dead job. */
  flowHeldMs: number
  /** How long the ending of a job may wait to be counted. */
  endingMs: number
}

const minuteMs = 60_000
const hourMs = 3_600_000

export const defaultLimits: Limits = {
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
  pausedMs: 24 * hourMs,
  breakerOpenMs: 10 * minuteMs,
  flowHeldMs: 24 * hourMs,
  endingMs: 10_000,
}
