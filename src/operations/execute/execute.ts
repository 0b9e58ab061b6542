import { setTimeout as pause } from 'node:timers/promises'
import { StintError } from '../../core/errors.ts'
import { cleanText } from '../../core/json/storable.ts'
import { oneOfOption } from '../../core/options.ts'
import { parseWhere } from '../../core/filter/where.ts'
import type { Where } from '../../core/filter/where.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { classify, isPerhapsOneRow } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import { holdRunning } from '../../jobs/attempt/while-running.ts'
import { act } from './act.ts'
import type { Acted, ActedJob } from './act.ts'
import { addJobs, noteCursor } from './change.ts'
import { chooseCanary } from './canary.ts'
import { endingsSql } from './endings.sql.ts'
import { holdSql } from './hold.sql.ts'
import { endNote, whyStop } from './judge.ts'
import { noteCanarySql } from './note-canary.sql.ts'
import { noteFatesSql } from './note-fates.sql.ts'
import { noteJobsSql } from './note-jobs.sql.ts'
import { getOperation, toStored } from '../operation.ts'
import type { StoredOperation } from '../operation.ts'
import { lastUuid } from '../../core/uuid.ts'
import { diedAgain, operationActions, toFates } from '../../core/operation.ts'
import type { CanaryResult, OperationState } from '../../core/operation.ts'
import { probe } from './probe.ts'
import { setStateSql } from './set-state.sql.ts'
import { targetWhere } from '../target.ts'
import { untouchedSql } from './untouched.sql.ts'

/**
 * Carries out an operation from the state in which it is.
 *
 * pending: the executor stores all matching jobs in `operation_job`, newest first. It acts on none before all are stored, so
 * an operation over its `max` does nothing. canary: it acts on some jobs, spread over times, kinds and keys, and waits for
 * their endings. ramping: it acts on the rest, in batches. A replay records how its jobs end all the while, and its rule may
 * still stop it. After the last batch it waits for the remaining endings.
 *
 * Each step is one short transaction. It first locks the row of the executing job, under its lease, and then the operation's
 * row if that still is to be executed. So a worker that lost its lease cannot continue, and a pause or an abort waits only for
 * the current step. Within the step the jobs are changed under their guards and the outcome of each is stored. A crash leaves
 * a step done or not done; the next executor continues with the untouched jobs.
 */
export interface Execution {
  /** The id of the operation. */
  id: string
  /** The executing job, and the lease under which it runs. */
  job: { id: string; lease: string }
  signal: AbortSignal
  /** Called with each step's result after its commit. */
  onActed: (acted: Acted) => void
  /** How long to wait for the endings of the canary, and later for those of all jobs. @default 10 minutes */
  undecidedMs?: number | undefined
}

/** Jobs in one transaction, at most. */
const batchSize = 500
/** A pause or an abort takes effect within this time. */
const lookEveryMs = 500
const freezeMs = 1_000
const idleMs = 30_000
const usualUndecidedMs = 600_000
/** Jobs whose fate one transaction reads. */
const followSize = 1_000
/** After waiting this long, the executing job is snoozed: another operation may need its slot. */
const waitHereMs = 2_000
const leastSnoozeMs = 2_000
const mostSnoozeMs = 30_000
/** While it ramps, the rule assumes that at least this many jobs have ended: a few endings say little. */
const fewestJudged = 10
/** Another job may take a unique key at the same moment; the next try sees it. */
const mostTries = 5

interface Run extends Execution {
  /** The next read of fates starts below this id. */
  below: string
  /** The time from which this run only waits for jobs to end; undefined while it acts. */
  waitsSince: number | undefined
  /** How long the operation has waited for endings, over all its runs. */
  waitedMs: number
}

/** The state of the operation; or, while it waits for jobs to end, the delay before the next run. */
export type Executed = OperationState | { snoozeMs: number } | undefined

/**
 * Returns when the operation has ended, is paused, belongs to another job, or only waits for jobs to end. Throws if the signal
 * aborts or the database fails.
 */
export async function executeOperation(db: Database, given: Execution): Promise<Executed> {
  const execution: Run = { ...given, below: lastUuid, waitsSince: undefined, waitedMs: 0 }
  for (;;) {
    execution.signal.throwIfAborted()
    // A tenth of the wait so far: this notices an ending soon enough, and a long wait takes few runs.
    if (performance.now() - (execution.waitsSince ?? Infinity) > waitHereMs)
      return { snoozeMs: Math.max(leastSnoozeMs, Math.min(mostSnoozeMs, execution.waitedMs / 10)) }
    const operation = await getOperation(db, execution.id)
    if (operation === undefined || operation.jobId !== execution.job.id) return operation?.state
    switch (operation.state) {
      case 'pending':
        await (operation.matched === null ? freeze(db, execution) : begin(db, execution))
        continue
      case 'canary':
        await tryCanary(db, execution)
        continue
      case 'ramping':
        await ramp(db, execution)
        continue
      case 'paused':
      case 'stopped':
      case 'aborted':
      case 'done':
        return operation.state
    }
  }
}

/** One step, with both rows locked; undefined if the operation no longer belongs to this job. */
function step<Result>(
  db: Database,
  { id, job }: Execution,
  work: (tx: Queryable, operation: StoredOperation) => Promise<Result>,
): Promise<Result | undefined> {
  return withPartitions(db, () =>
    db.transaction(async (tx) => {
      if (!(await holdRunning(tx, { ...job, idleMs }))) throw leaseLost(job.id)
      const [held] = await run(tx, holdSql, { id, jobId: job.id }, toStored)
      return held === undefined ? undefined : work(tx, held)
    }),
  )
}

function leaseLost(id: string): StintError {
  const message = `Job ${id} was claimed by another worker, which continues the operation.`
  return new StintError('lease-lost', message, { jobIds: [id] })
}

interface Coming {
  state: OperationState
  note?: string | undefined
  canaryResult?: CanaryResult
}

async function become(tx: Queryable, id: string, { state, note, canaryResult }: Coming): Promise<void> {
  const result = canaryResult === undefined ? null : JSON.stringify(canaryResult)
  await run(tx, setStateSql, { id, state, note: note ?? null, canaryResult: result }, () => undefined)
}

/** Stores the next page of matching jobs. */
async function freeze(db: Database, execution: Execution): Promise<void> {
  const { id } = execution
  const operation = await step(db, execution, (_, held) => Promise.resolve(held))
  if (operation === undefined) return
  const { frozenAt: asOf, cursor, max } = operation
  const where = whereOf(operation)
  // Another program stored an invalid row: it never becomes valid, so the operation ends without doing anything.
  if (typeof where === 'string') {
    await step(db, execution, (tx) => become(tx, id, { state: 'stopped', note: where }))
    return
  }
  const found = await probe(db, {
    where,
    asOf,
    most: 4 * batchSize,
    mostMs: freezeMs,
    before: cursor ?? undefined,
  })
  await step(db, execution, async (tx, held) => {
    if (held.cursor !== cursor) return
    const noted = (await addJobs(tx, { id, ids: found.ids })) ?? held.noted
    if (noted > max)
      return become(tx, id, {
        state: 'stopped',
        note: `More than ${max} jobs match, which was the most allowed. Nothing was done.`,
      })
    await noteCursor(tx, { id, cursor: found.cursor, isAll: found.isAll })
  })
}

/** The filter of the operation, or the reason why its row is not valid. */
function whereOf({ action, where }: StoredOperation): Where | string {
  try {
    return targetWhere(oneOfOption('action', action, operationActions), parseWhere(where ?? ''))
  } catch (error) {
    return cleanText(`The stored operation is not valid: ${messageOf(error)}`, 500)
  }
}

async function begin(db: Database, execution: Execution): Promise<void> {
  const { id } = execution
  await step(db, execution, async (tx, { canary, matched }) => {
    if (matched === 0) return become(tx, id, { state: 'done', note: 'Nothing matched.' })
    if (canary <= 0) return become(tx, id, { state: 'ramping' })
    await chooseCanary(tx, { id, count: Math.min(1_000, Math.ceil(canary)) })
    await become(tx, id, { state: 'canary' })
  })
}

/** Acts on the canary jobs, waits for their first endings and judges them. */
async function tryCanary(db: Database, execution: Run): Promise<void> {
  const { id, undecidedMs = usualUndecidedMs } = execution
  if ((await actOnSome(db, execution, { limit: batchSize, onlyCanary: true })) > 0) return
  const isWaiting = await step(db, execution, async (tx, operation) => {
    await noteFates(tx, operation, lastUuid)
    const triedAt = operation.canaryAt ?? operation.now
    // Counted from its begin, not from a resume: the jobs may have ended while it was paused.
    const since = operation.startedAt ?? operation.now
    type Ending = { outcome: string | null; isSame: boolean }
    const endings = await run(tx, endingsSql, { id, since }, (row: Ending) => row)
    const failures = endings.filter(({ outcome }) => outcome === 'failed')
    const canaryResult = {
      decided: endings.filter(({ outcome }) => outcome !== null).length,
      succeeded: endings.filter(({ outcome }) => outcome === 'succeeded').length,
      failed: failures.length,
      sameError: failures.filter(({ isSame }) => isSame).length,
    }
    const stop = whyStop(canaryResult, { total: endings.length, which: 'jobs of the canary' }, operation)
    if (stop !== undefined) return become(tx, id, { state: 'stopped', note: stop, canaryResult })
    if (canaryResult.decided === endings.length) return become(tx, id, { state: 'ramping', canaryResult })
    const left = endings.length - canaryResult.decided
    execution.waitedMs = operation.now.getTime() - triedAt.getTime()
    if (execution.waitedMs >= undecidedMs) {
      const note = `${left} of ${endings.length} jobs of the canary have not ended: look at them, then resume or abort.`
      return become(tx, id, { state: 'paused', note, canaryResult })
    }
    await run(tx, noteCanarySql, { id, result: JSON.stringify(canaryResult) }, () => undefined)
    return true
  })
  if (isWaiting === true) await waitOn(execution)
}

/** Acts on the next batch, no faster than the pace, and reads fates. After the last batch it waits for all endings. */
async function ramp(db: Database, execution: Run): Promise<void> {
  const startedAt = performance.now()
  const operation = await getOperation(db, execution.id)
  const pace = operation?.pace ?? undefined
  // At most two batches a second: the wait between them is short, and a pause takes effect there.
  const limit = pace === undefined ? batchSize : Math.max(1, Math.min(batchSize, Math.round(pace / 2)))
  const count = await actOnSome(db, execution, { limit, onlyCanary: false })
  if (count === 0) return followToEnd(db, execution)
  execution.waitsSince = undefined
  if (operation?.action === 'replay' && !(await lookOn(db, execution))) return
  if (pace === undefined) return
  const until = startedAt + (1_000 * count) / pace
  while (performance.now() < until) {
    await hear(execution, until - performance.now())
    const now = await getOperation(db, execution.id)
    if (now?.state !== 'ramping' || now.pace !== operation?.pace) return
  }
}

/** Reads all jobs that have not ended. The operation is done when all have, or when it has waited long enough. */
async function followToEnd(db: Database, execution: Run): Promise<void> {
  execution.below = lastUuid
  do {
    if (!(await lookOn(db, execution))) return
  } while (execution.below !== lastUuid)
  const isWaiting = await step(db, execution, async (tx, operation) => {
    const { undecidedMs = usualUndecidedMs } = execution
    const live = operation.fates?.live ?? 0
    execution.waitedMs = operation.now.getTime() - (operation.actedAt ?? operation.now).getTime()
    if (live > 0 && execution.waitedMs < undecidedMs) return true
    return become(tx, operation.id, { state: 'done', note: endNote(operation) })
  })
  if (isWaiting === true) await waitOn(execution)
}

/** Stores the fates of some more jobs; false if the rule stops the operation, or it no longer belongs to this job. */
async function lookOn(db: Database, execution: Run): Promise<boolean> {
  const isOn = await step(db, execution, async (tx, operation) => {
    const look = await noteFates(tx, operation, execution.below)
    execution.below = look.seen < followSize ? lastUuid : (look.last ?? lastUuid)
    const { matched, acted, skipped, failed } = operation
    const fates = toFates(look.fates)
    const { sameError, succeeded, cancelled } = fates
    const dead = diedAgain(fates)
    const judged = {
      total: dead + succeeded + cancelled,
      which: 'jobs that have ended',
      atLeast: fewestJudged,
    }
    const stop = whyStop({ failed: dead, sameError }, judged, operation)
    if (stop === undefined || acted + skipped + failed === matched) return true
    await become(tx, operation.id, { state: 'stopped', note: stop })
    return false
  })
  return isOn ?? false
}

interface FatesLook {
  seen: number
  last: string | null
  fates: unknown
}

async function noteFates(tx: Queryable, operation: StoredOperation, before: string): Promise<FatesLook> {
  const { id, startedAt, now } = operation
  const request = { id, before, since: startedAt ?? now, limit: followSize }
  const [look] = await run(tx, noteFatesSql, request, (row: FatesLook) => row)
  return look ?? { seen: 0, last: null, fates: null }
}

/** Acts on the next untouched jobs and returns how many they were. */
async function actOnSome(
  db: Database,
  execution: Execution,
  { limit, onlyCanary }: { limit: number; onlyCanary: boolean },
): Promise<number> {
  const { id } = execution
  for (let tries = 1; ; tries++) {
    try {
      const done = await step(db, execution, async (tx, operation) => {
        const request = { id, onlyCanary, limit: tries > mostTries ? 1 : limit }
        const ids = await run(tx, untouchedSql, request, (row: { id: string }) => row.id)
        if (ids.length === 0) return undefined
        const acted = await act(tx, requestOf(operation, ids))
        await noteJobs(tx, id, acted.jobs)
        return acted
      })
      if (done === undefined) return 0
      execution.onActed(done)
      return done.jobs.length
    } catch (error) {
      const isRowsFault = classify(error) === 'duplicate' || isPerhapsOneRow(error)
      if (!isRowsFault) throw error
      if (tries <= mostTries) continue
      return noteFailed(db, execution, { onlyCanary, error })
    }
  }
}

/** Records a job on which no action succeeds as failed, so that it does not block the others. */
async function noteFailed(
  db: Database,
  execution: Execution,
  { onlyCanary, error }: { onlyCanary: boolean; error: unknown },
): Promise<number> {
  const { id } = execution
  const noted = await step(db, execution, async (tx) => {
    const ids = await run(tx, untouchedSql, { id, onlyCanary, limit: 1 }, (row: { id: string }) => row.id)
    const jobs = ids.map((one): ActedJob => ({
      id: one,
      outcome: 'failed',
      reason: cleanText(messageOf(error), 500),
    }))
    await noteJobs(tx, id, jobs)
    return jobs.length
  })
  return noted ?? 0
}

async function noteJobs(tx: Queryable, id: string, jobs: readonly ActedJob[]): Promise<void> {
  await run(tx, noteJobsSql, { id, items: JSON.stringify(jobs) }, () => undefined)
}

function requestOf(
  { action, frozenAt: asOf, priority, reason }: StoredOperation,
  ids: readonly string[],
): Parameters<typeof act>[1] {
  return { action, ids, asOf, priority, reason }
}

/** Waits a little for jobs to end. */
async function waitOn(execution: Run): Promise<void> {
  execution.waitsSince ??= performance.now()
  await hear(execution)
}

/** Waits a little: no longer than a pause or an abort may take to have effect. */
async function hear({ signal }: Execution, atMostMs = lookEveryMs): Promise<void> {
  await pause(Math.max(1, Math.min(lookEveryMs, atMostMs)), undefined, { signal, ref: false }).catch(
    () => undefined,
  )
  signal.throwIfAborted()
}
