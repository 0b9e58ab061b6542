import type { Job } from '../../core/job.ts'
import { printable } from '../../core/json/printable.ts'
import { span } from '../../core/span.ts'
import type { Database } from '../../db/database.ts'
import { rejectUnknown } from '../../core/options.ts'
import { run } from '../../db/statement.ts'
import { get } from '../../jobs/get.ts'
import { readFacts, readHolders } from './facts.ts'
import type { Facts } from './facts.ts'
import { lockSql } from './lock.sql.ts'
import { lockerSql } from './locker.sql.ts'
import { openTransactionSql } from './open-transaction.sql.ts'
import { judgeWaiting, reachedLimit, runningText, turn } from './predicates.ts'
import { predicateNames } from './verdict.ts'
import type { PredicateName, Sees, WhyPredicate } from './verdict.ts'

/** Why a job does not run, or what it waits for. */
export interface Why {
  /** A claim with room for all ready jobs would take this one now. */
  claimable: boolean
  /** The first condition that does not hold; null if the next claim may take the job. */
  first: PredicateName | null
  /** All conditions of a claim, in order. */
  predicates: WhyPredicate[]
  /** When it should start, estimated from the last five minutes; missing if that is not known. */
  startsInMs?: number | undefined
  asOf: Date
}

export interface WhyOptions {
  /** Which other jobs may be named and counted; `{ queue }` alone stands for the whole queue. @default all */
  sees?: Sees | undefined
}

/** The row lock is probed only after a job could have been claimed for this long. */
const probeAfterMs = 5_000

/** Reads the facts and judges them: one statement, and one more where a limit is reached or a lock must be probed. */
export async function why(db: Database, id: string, { sees, ...rest }: WhyOptions = {}): Promise<Why> {
  rejectUnknown('why', rest, ['sees'])
  const facts = await readFacts(db, id)
  if (facts === undefined) return ended(db, id)
  if (facts.state === 'running') return notLive(runningText(facts), facts.asOf)
  const reached = reachedLimit(facts)
  const holders =
    reached === undefined
      ? []
      : await readHolders(db, { name: reached.name, key: reached.byKey ? facts.key : null })
  const waiting = judgeWaiting({ facts, holders, sees })
  const isStopped = waiting.some(({ holds }) => holds === false)
  const last: WhyPredicate[] = isStopped
    ? [unjudged('turn'), unjudged('visible')]
    : [{ name: 'turn', ...turn({ facts, sees }) }, await visible(db, facts)]
  return concluded([...waiting, ...last], facts.asOf)
}

function concluded(predicates: WhyPredicate[], asOf: Date): Why {
  const failing = predicates.filter(({ holds }) => holds === false)
  const waits = failing.map(({ clearsInMs }) => clearsInMs)
  return {
    claimable: failing.every(({ name }) => name === 'turn'),
    first: failing[0]?.name ?? null,
    predicates,
    ...(failing.length > 0 && waits.every((ms) => ms !== undefined)
      ? { startsInMs: Math.max(...waits) }
      : {}),
    asOf,
  }
}

function unjudged(name: PredicateName): WhyPredicate {
  return { name, holds: null, says: '' }
}

function notLive(says: string, asOf: Date): Why {
  const [, ...others] = predicateNames
  return concluded([{ name: 'live', holds: false, says }, ...others.map(unjudged)], asOf)
}

/** A job that has ended, or that does not exist. */
async function ended(db: Database, id: string): Promise<Why> {
  const job = await get(db, id)
  const [open] = await run(db, openTransactionSql, {}, (row: OpenTransaction) => row)
  const asOf = open?.asOf ?? new Date()
  if (job !== undefined) return notLive(endText(job, asOf), asOf)
  const oldest =
    open?.pid === null || open?.ms == null ? '' : `: oldest one open ${span(open.ms)}, pid ${open.pid}`
  return notLive(`unknown id; an enqueue in an open transaction does not exist yet${oldest}`, asOf)
}

interface OpenTransaction {
  asOf: Date
  pid: number | null
  ms: number | null
}

function endText({ state, finishedAt, reason, crashes, attempt }: Job, asOf: Date): string {
  const ago = finishedAt === null ? '' : ` ${span(asOf.getTime() - finishedAt.getTime())} ago`
  const why = reason === null ? '' : `: ${printable(reason.replace(/\s+/g, ' '))}`
  if (state !== 'dead') return `${state}${ago}${why}`
  const after =
    reason === 'quarantined'
      ? ` after ${crashes} ${crashes === 1 ? 'crash' : 'crashes'}`
      : reason === 'exhausted'
        ? ` after ${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}`
        : ''
  return `dead${why}${after},${ago}`
}

/** Whether a claim can lock its row. */
async function visible(db: Database, facts: Facts): Promise<WhyPredicate> {
  const fine: WhyPredicate = {
    name: 'visible',
    holds: true,
    says: 'nothing stops it: the next poll of a worker finds it',
  }
  const isOld = facts.asOf.getTime() - facts.runAt.getTime() > probeAfterMs
  if (facts.state !== 'ready' || !isOld || !facts.mayLock) return fine
  if (await canLock(db, facts.id)) return fine
  const [locker] = await run(db, lockerSql, { id: facts.id }, (row: Locker) => row)
  // Without a session the lock was released meanwhile, or is held by a prepared transaction.
  const who =
    locker === undefined
      ? 'another transaction'
      : `pid ${locker.pid}${locker.application ? ` "${printable(locker.application)}"` : ''}`
  const since =
    locker?.state == null ? '' : `, ${locker.state}${locker.ms === null ? '' : ` ${span(locker.ms)}`}`
  return { name: 'visible', holds: false, says: `row locked by ${who}${since}` }
}

interface Locker {
  pid: number
  application: string | null
  state: string | null
  ms: number | null
}

/** Tries the lock of a claim and rolls back, so that nothing is written down. */
async function canLock(db: Database, id: string): Promise<boolean> {
  let isFree = false
  const undo = new Error('undo')
  await db
    .transaction(async (tx) => {
      isFree = (await run(tx, lockSql, { id }, () => undefined)).length > 0
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return isFree
}
