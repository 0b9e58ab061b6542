import { addLogSql } from '../../src/jobs/attempt/add-log.sql.ts'
import { cancelRunningSql } from '../../src/jobs/cancel-running.sql.ts'
import { claimLanesSql } from '../../src/jobs/claim-lanes.sql.ts'
import { claimSql } from '../../src/jobs/claim.sql.ts'
import { deadLetterSql } from '../../src/jobs/dead-letter.sql.ts'
import { holdRunningSql } from '../../src/jobs/attempt/hold-running.sql.ts'
import { floorParams, start } from '../../src/jobs/position.ts'
import { progressSql } from '../../src/jobs/attempt/progress.sql.ts'
import { begunSql } from '../../src/jobs/attempt/begun.sql.ts'
import { cancellationsSql } from '../../src/jobs/attempt/cancellations.sql.ts'
import { putBackSql } from '../../src/jobs/put-back.sql.ts'
import { retrySql } from '../../src/jobs/retry.sql.ts'
import { settledSql } from '../../src/jobs/settled.sql.ts'
import { succeedSql } from '../../src/jobs/succeed.sql.ts'
import { surveyLanesSql } from '../../src/jobs/survey-lanes.sql.ts'
import { surveySql } from '../../src/jobs/survey.sql.ts'
import { tailLanesSql } from '../../src/jobs/tail-lanes.sql.ts'
import { tailSql } from '../../src/jobs/tail.sql.ts'
import { unknownKindsSql } from '../../src/jobs/unknown-kinds.sql.ts'
import { burySql } from '../../src/jobs/leases/bury.sql.ts'
import { heldSql } from '../../src/jobs/leases/held.sql.ts'
import { dueSql } from '../../src/worker/recovery/due.sql.ts'
import { lostSql } from '../../src/worker/recovery/lost.sql.ts'
import { promoteTheseSql } from '../../src/worker/recovery/promote-these.sql.ts'
import { promoteSql } from '../../src/worker/recovery/promote.sql.ts'
import { sweepSql } from '../../src/worker/recovery/sweep.sql.ts'
import type { Call } from './explain.ts'
import { batchSize, liveWorker } from './large-queue.ts'
import type { Batch } from './large-queue.ts'

const kinds = JSON.stringify({ 'bulk.work': 1, 'mail.work': 1, 'keyed.work': 1, 'later.work': 1 })
const queues = '{bulk,mail,foreign,keyed,strange,later}'
const kindsByQueue = `{${Array.from({ length: 6 }, () => JSON.stringify(kinds)).join()}}`
/** A worker that claims jobs, and the lease that its claims take. */
export const claimant = {
  worker: liveWorker,
  lease: '00000000-0000-4000-a000-000000000000',
  kinds,
  limit: batchSize,
}
export const claimBulk = { ...claimant, queue: 'bulk', priority: 0, ...floorParams(start) }
export const tailBulk = { ...claimBulk, agoMs: 1_000 }
export const surveyKeyed = { queue: 'keyed', kinds, afterKey: '', lanes: 1_000 }
export const claimKeyed = { ...claimant, queue: 'keyed' }

/** Lanes of priority 0, from the start, as the statements take them. */
export function lanesOf(
  keys: readonly string[],
  take: number,
): Record<'keys' | 'priorities' | 'floorAts' | 'floorIds' | 'takes', string> {
  const { floorAt, floorId } = floorParams(start)
  const all = (value: string | number): string => `{${keys.map(() => value).join()}}`
  return {
    keys: `{${keys.join()}}`,
    priorities: all(0),
    floorAts: all(floorAt),
    floorIds: all(floorId),
    takes: all(take),
  }
}

/** Keys of the queue `keyed`; nearly all of them have jobs. */
export const hundredKeys = Array.from({ length: 100 }, (_, n) => `key-${n}`)

/** No parked jobs, which is the usual case. */
const parked = '{}'

/** A statement of the hot path, and how it has to be planned. */
export interface HotStatement extends Call {
  /** All indexes of stint.job that it may use. */
  uses: string[]
  /** It must run to show its plan: the parts below the recursive term of a CTE are set up only then. */
  isRecursive?: true
}

/**
 * All statements of the hot path by name.
 *
 * @param batch running jobs to settle
 * @param lostIds jobs whose worker is lost
 */
export function hotStatements(batch: Batch, lostIds: string): Record<string, HotStatement> {
  const settles = { params: batch, uses: ['job_pkey'] }
  return {
    claim: { statement: claimSql, params: claimBulk, uses: ['job_pkey', 'job_ready'] },
    // A level that is larger than a batch, but looks smaller to a planner that treats queue and priority as independent.
    'claim a level': {
      statement: claimSql,
      params: { ...claimBulk, queue: 'mail', priority: 10 },
      uses: ['job_pkey', 'job_ready'],
    },
    'claim-lanes': {
      statement: claimLanesSql,
      params: { ...claimKeyed, ...lanesOf(hundredKeys, batchSize / 100) },
      uses: ['job_pkey', 'job_ready_keyed'],
    },
    // As a queue of one key is claimed from.
    'claim-lanes of one key': {
      statement: claimLanesSql,
      params: { ...claimKeyed, ...lanesOf(['hot'], batchSize) },
      uses: ['job_pkey', 'job_ready_keyed'],
    },
    'survey-lanes': {
      statement: surveyLanesSql,
      params: surveyKeyed,
      uses: ['job_ready_keyed'],
      isRecursive: true,
    },
    'tail-lanes': {
      statement: tailLanesSql,
      params: { ...claimKeyed, ...lanesOf(hundredKeys, 1), agoMs: 1_000 },
      uses: ['job_ready_keyed backward'],
    },
    survey: {
      statement: surveySql,
      params: { queues, kinds: kindsByQueue },
      uses: ['job_due', 'job_ready', 'job_ready_keyed', 'job_waiting'],
      isRecursive: true,
    },
    tail: { statement: tailSql, params: tailBulk, uses: ['job_ready backward'] },
    'unknown-kinds': {
      statement: unknownKindsSql,
      params: { queues, kinds, window: 1_000 },
      uses: ['job_ready', 'job_ready_keyed'],
    },
    succeed: { statement: succeedSql, ...settles },
    retry: { statement: retrySql, ...settles },
    'put-back': { statement: putBackSql, ...settles },
    'dead-letter': { statement: deadLetterSql, ...settles },
    'cancel-running': { statement: cancelRunningSql, ...settles },
    progress: { statement: progressSql, ...settles },
    begun: { statement: begunSql, ...settles },
    'add-log': { statement: addLogSql, ...settles },
    'hold-running': {
      statement: holdRunningSql,
      params: { ...batch, idleMs: '1000' },
      uses: ['job_pkey'],
    },
    settled: { statement: settledSql, params: { ...batch, sinceMs: 60_000 }, uses: [] },
    promote: {
      statement: promoteSql,
      params: { queues, limit: batchSize, parked },
      uses: ['job_due', 'job_pkey', 'job_waiting'],
    },
    due: {
      statement: dueSql,
      params: { queues, limit: batchSize, parked },
      uses: ['job_due', 'job_waiting'],
    },
    'promote-these': { statement: promoteTheseSql, params: batch, uses: ['job_pkey'] },
    lost: {
      statement: lostSql,
      params: { limit: batchSize, parked },
      uses: ['job_running'],
      isRecursive: true,
    },
    sweep: { statement: sweepSql, params: { ids: lostIds, crashLimit: 3 }, uses: ['job_pkey'] },
    bury: { statement: burySql, params: {}, uses: ['job_running'] },
    held: { statement: heldSql, params: { worker: liveWorker }, uses: ['job_running'] },
    cancellations: {
      statement: cancellationsSql,
      params: { worker: liveWorker },
      uses: ['job_running'],
    },
  }
}
