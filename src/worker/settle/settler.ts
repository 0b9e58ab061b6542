import { setTimeout as pause } from 'node:timers/promises'
import { isStintError } from '../../core/errors.ts'
import { classify, DeadlineError, isLockTimeout, mayBeOneRows } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import type { Queryable } from '../../db/statement.ts'
import { isRefusal, refusalOf } from '../../intake/refusal.ts'
import { sendBatch } from '../../intake/send-batch.ts'
import type { JobHint } from '../../intake/new-job.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import type { DeadReason } from '../../jobs/list-dead.ts'
import {
  cancelRunning,
  cutRows,
  deadLetter,
  noteRefused,
  putBack,
  retry,
  settled,
  succeed,
} from '../../jobs/settle.ts'
import type { HeldJob, HeldJobs } from '../attempt/held-job.ts'
import type { Child, Ending, Outcome } from '../attempt/outcome.ts'

/** An attempt that is over. */
export interface Ended {
  readonly held: HeldJob
  readonly outcome: Outcome
  readonly ranMs: number
}

export interface SettlerConfig {
  db: Database
  held: HeldJobs
  /** How its ending is stored, or refused because its lease is gone; then, and not before, its place is free. */
  onSettled: (ended: Ended) => void
  onRefused: (ended: Ended) => void
  /** What becomes of a job whose success could not be stored because of this. */
  failedWith: (held: HeldJob, error: unknown) => Ending
  /** Children were stored with it. */
  onChildren: (hints: ReadonlySet<JobHint>) => void
  /** Columns of these were cut: they were too long to be stored with their endings, which is tried again. */
  onCut: (cut: ReadonlyMap<HeldJob, readonly string[]>) => Promise<void>
  /** It is tried again; `jobIds` where it is about these and no others. */
  onTrouble: (error: unknown, jobIds?: readonly string[]) => void
}

interface Sending {
  /** An earlier try may have been done. */
  wasUnknown?: boolean
  /** It is tried now and then, beside all else. */
  isParked?: boolean
  /** Rows were looked at for values that are too long. */
  wasCut?: boolean
}

/** Past this a statement is no faster; an uncapped one grew with the square of its rows. */
const maxBatch = 1_000
const maxBatchBytes = 1024 * 1024
const maxInFlight = 2

/**
 * Stores how attempts ended: gathered by the way they ended, capped, each batch one statement under the fence.
 *
 * A batch goes out at once when none is on its way, otherwise with all that gathers meanwhile. A batch holds a job
 * once, and only under the newest lease that this process has for it; an older lease is sent alone, because a
 * statement with two lists (ids, leases) would accept a late result of job X under lease A if X runs here again under
 * B and B is also in the batch.
 *
 * Nothing is thrown away while the process lives: a settle whose reply was lost is sent again with the same lease,
 * and what then does not match is looked up: settled by the first try, or lost.
 */
export class Settler {
  readonly #config: SettlerConfig
  #waiting: Ended[] = []
  #inFlight = 0
  #isScheduled = false
  /** When a try last came to an answer, be it a failure, while something was to be settled. */
  #turnedAt = 0
  #idle: (() => void)[] = []

  constructor(config: SettlerConfig) {
    this.#config = config
  }

  add(ended: Ended): void {
    this.#waiting.push(ended)
    this.#schedule()
  }

  /** Since when it has come to no answer; undefined while there is nothing to settle. */
  get since(): number | undefined {
    return this.#inFlight > 0 ? this.#turnedAt : undefined
  }

  /** Resolves when all that was added has been stored or refused. */
  drained(): Promise<void> {
    if (this.#waiting.length === 0 && this.#inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= maxInFlight) return
    // With one on its way there is time to gather; a full batch need not wait.
    if (this.#inFlight > 0 && this.#waiting.length < maxBatch / 2) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, maxBatch)
    if (batch.length > 0) {
      if (this.#inFlight++ === 0) this.#turnedAt = performance.now()
      if (this.#waiting.length >= maxBatch / 2) this.#schedule()
      await Promise.all(this.#groups(batch).map((group) => this.#settle(group)))
      this.#inFlight--
    }
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** By ending; alone where it has children, or a lease that is not the newest. */
  #groups(batch: readonly Ended[]): Ended[][] {
    const groups: Ended[][] = []
    const open = new Map<string, { group: Ended[]; bytes: number }>()
    for (const ended of batch) {
      const { held, outcome } = ended
      const isAlone =
        !this.#config.held.isCurrent(held) ||
        outcome.type === 'handed-over' ||
        (outcome.type === 'succeeded' && outcome.children.length > 0)
      const type = `${held.workerId} ${statementOf(outcome)}`
      const current = open.get(type)
      const bytes = outcome.type === 'succeeded' ? (outcome.result?.length ?? 0) : 0
      if (isAlone) groups.push([ended])
      else if (current !== undefined && current.bytes + bytes <= maxBatchBytes) {
        current.group.push(ended)
        current.bytes += bytes
      } else {
        const group = [ended]
        groups.push(group)
        open.set(type, { group, bytes })
      }
    }
    return groups
  }

  /**
   * Sends one group until the answer is known for each of its jobs. Where one of them may be what is in the way, the
   * others go on without it; that one is tried now and then for as long as the process lives, beside all else.
   */
  async #settle(
    group: readonly Ended[],
    { wasUnknown = false, isParked = false, wasCut = false }: Sending = {},
  ): Promise<void> {
    const { db, onTrouble, failedWith } = this.#config
    let isRepeat = wasUnknown
    let isBare = false
    let isCut = wasCut
    let known: readonly Ended[] | undefined
    for (let tries = 1; ; tries++) {
      if (isParked && !isBare) await pause(Math.random() * Math.min(30_000, 500 * 2 ** Math.min(tries, 6)))
      try {
        const found = (known ??= await this.#afterHandOver(group))
        const endings = isBare ? found.map(withoutContent) : found
        const moved = new Set(await withPartitions(db, () => this.#send(endings)))
        await this.#conclude(endings, moved, isRepeat)
        this.#turnedAt = performance.now()
        return
      } catch (error) {
        this.#turnedAt = performance.now()
        // Nothing of the database's: its connections were closed, after the time for stopping was over.
        if (isStintError(error, 'client-closed')) return
        if (isRefusal(error)) {
          const failed = group.map((ended) => ({ ...ended, outcome: failedWith(ended.held, error) }))
          await this.#settle(failed, { wasUnknown: isRepeat })
          return
        }
        const trouble = classify(error)
        if (trouble === 'unknown') isRepeat = true
        // All at once and before each is tried alone: there may be thousands of such rows.
        if (trouble === 'value' && !isCut) {
          isCut = true
          if (await this.#cut(group)) continue
        }
        const isOneJobs = mayBeOneRows(error) || isInTheWay(error, tries)
        if (isOneJobs && group.length > 1) {
          const middle = Math.ceil(group.length / 2)
          const halves = [group.slice(0, middle), group.slice(middle)]
          await Promise.all(halves.map((half) => this.#settle(half, { wasUnknown: isRepeat, wasCut: isCut })))
          return
        }
        // Perhaps it is only what was said about the ending. Where it is not, that is kept after all.
        isBare = trouble === 'value' && !isBare
        if (isBare) continue
        onTrouble(error, isOneJobs ? group.map(({ held }) => held.job.id) : undefined)
        if (isOneJobs && !isParked) {
          void this.#settle(group, { wasUnknown: isRepeat, wasCut: isCut, isParked: true })
          return
        }
        const longestMs = trouble === 'broken' ? 30_000 : 2_000
        if (!isParked) await pause(Math.random() * Math.min(longestMs, 20 * 2 ** Math.min(tries, 12)))
      }
    }
  }

  /** Whether some of their rows had values that are too long to be stored with an ending, and have no more. */
  async #cut(group: readonly Ended[]): Promise<boolean> {
    try {
      const columns = await cutRows(this.#config.db, leasesOf(group))
      const cut = new Map(group.map(({ held }) => [held, columns.get(held.job.id) ?? []] as const))
      for (const [held, names] of cut) if (names.length === 0) cut.delete(held)
      if (cut.size > 0) await this.#config.onCut(cut)
      return cut.size > 0
    } catch {
      return false
    }
  }

  async #conclude(group: readonly Ended[], moved: ReadonlySet<string>, isRepeat: boolean): Promise<void> {
    const { db, onSettled, onRefused } = this.#config
    const missing = group.filter(({ held }) => !moved.has(held.job.id))
    if (missing.length === 0) {
      this.#announceChildren(group)
      for (const ended of group) onSettled(ended)
      return
    }
    const sinceMs = Math.max(...missing.map(({ held }) => performance.now() - held.heldSince))
    const before = isRepeat
      ? new Set(await settled(db, { ...leasesOf(missing), sinceMs }))
      : new Set<string>()
    const refused = missing.filter(({ held }) => !before.has(held.job.id))
    await this.#noteRefused(refused)
    const lost = new Set(refused)
    this.#announceChildren(group.filter((ended) => !lost.has(ended)))
    for (const ended of group) (lost.has(ended) ? onRefused : onSettled)(ended)
  }

  #announceChildren(group: readonly Ended[]): void {
    const hints = new Set<JobHint>()
    for (const { outcome } of group) {
      if (outcome.type === 'succeeded' || outcome.type === 'completed')
        for (const { hint } of outcome.children) hints.add(hint)
    }
    if (hints.size > 0) this.#config.onChildren(hints)
  }

  /** A trace for people; it must not stand in the way of anything. */
  async #noteRefused(refused: readonly Ended[]): Promise<void> {
    if (refused.length === 0) return
    const { db } = this.#config
    const items = refused.map(({ held: { job, workerId }, outcome, ranMs }) => ({
      ...{ id: job.id, lease: job.leaseId, epoch: job.epoch, attempt: job.attempt, ranMs, worker: workerId },
      reason: `late settle refused: ${outcome.type}`,
    }))
    await withPartitions(db, () => noteRefused(db, JSON.stringify(items))).catch(this.#config.onTrouble)
  }

  #send(group: readonly Ended[]): Promise<string[]> {
    const { db } = this.#config
    const [first] = group
    if (first === undefined) return Promise.resolve([])
    const batch = { ...leasesOf(group), lockMs: db.lockWaitMs }
    switch (first.outcome.type) {
      case 'succeeded':
        return first.outcome.children.length > 0
          ? this.#succeedWithChildren(first)
          : succeed(db, { ...batch, results: resultsOf(group) })
      case 'completed':
        return Promise.resolve(batch.ids)
      case 'handed-over':
        throw new Error('What became of it has to be asked first')
      case 'retry':
        return retry(db, { ...batch, worker: first.held.workerId, items: itemsOf(group) })
      case 'crashed':
      case 'snoozed':
      case 'released':
        return putBack(db, { ...batch, worker: first.held.workerId, items: itemsOf(group) })
      case 'dead':
        return deadLetter(db, { ...batch, items: itemsOf(group) })
      case 'cancelled':
        return cancelRunning(db, { ...batch, items: itemsOf(group) })
    }
  }

  /** A handler that stored its completion itself may have committed that or not: only the database knows. */
  async #afterHandOver(group: readonly Ended[]): Promise<readonly Ended[]> {
    const [first] = group
    if (first?.outcome.type !== 'handed-over') return group
    const { children, otherwise } = first.outcome
    const sinceMs = performance.now() - first.held.heldSince
    const found = await settled(this.#config.db, { ...leasesOf([first]), sinceMs })
    return [{ ...first, outcome: found.length > 0 ? { type: 'completed', children } : otherwise }]
  }

  #succeedWithChildren(ended: Ended): Promise<string[]> {
    return this.#config.db.transaction((tx) => succeedIn(tx, ended))
  }
}

/** Row by row after so many tries: somebody holds a lock on one of them, or is always faster. */
function isInTheWay(error: unknown, tries: number): boolean {
  const hasWaited = error instanceof DeadlineError || isLockTimeout(error)
  return (classify(error) === 'again' && tries >= 5) || (hasWaited && tries >= 2)
}

/**
 * Completes a job and stores its children on one transaction; nothing of it where the lease is gone. Throws what
 * `isRefusal` knows where a child is refused: the transaction is to be rolled back.
 */
export async function succeedIn(tx: Queryable, ended: Ended): Promise<string[]> {
  const moved = await succeed(tx, { ...leasesOf([ended]), lockMs: null, results: resultsOf([ended]) })
  const children = ended.outcome.type === 'succeeded' ? ended.outcome.children : []
  if (moved.length > 0 && children.length > 0) await storeChildren(tx, children)
  return moved
}

/** Notes of each where it ended up. Throws where its rule says that a duplicate is an error: then nothing is stored. */
async function storeChildren(tx: Queryable, children: readonly Child[]): Promise<void> {
  const places = await sendBatch(tx, children, false)
  for (const [index, child] of children.entries()) {
    const placed = places[index]
    const refusal = placed && refusalOf(child, placed)
    if (refusal !== undefined) throw refusal
    if (placed !== undefined) child.placed = placed
  }
}

function leasesOf(group: readonly Ended[]): { ids: string[]; leaseIds: string[] } {
  return {
    ids: group.map(({ held }) => held.job.id),
    leaseIds: [...new Set(group.map(({ held }) => held.job.leaseId))],
  }
}

/** One object by id, put together from texts that are JSON already; null where nobody has a result. */
function resultsOf(group: readonly Ended[]): string | null {
  const members = group.flatMap(({ held, outcome }) =>
    outcome.type === 'succeeded' && outcome.result !== undefined
      ? [`"${held.job.id}":${outcome.result}`]
      : [],
  )
  return members.length === 0 ? null : `{${members.join(',')}}`
}

function itemsOf(group: readonly Ended[]): string {
  return JSON.stringify(Object.fromEntries(group.map((ended) => [ended.held.job.id, itemOf(ended)])))
}

function itemOf({ held, outcome, ranMs }: Ended): object {
  const common = { lease: held.job.leaseId, ranMs }
  switch (outcome.type) {
    case 'retry': {
      const { delayMs, burnsAttempt, error, timedOut } = outcome
      const { fingerprint } = error
      return {
        ...common,
        ...{ delayMs, burns: burnsAttempt, class: error.class, error, fingerprint },
        outcome: timedOut ? 'timed-out' : 'failed',
      }
    }
    case 'dead': {
      const { reason, error, timedOut, crashes } = outcome
      return {
        ...common,
        ...{ reason, error, fingerprint: error.fingerprint, crashes },
        outcome: deadOutcomeOf(reason, timedOut),
      }
    }
    case 'crashed':
      return {
        ...common,
        ...{ outcome: 'crashed', delayMs: outcome.delayMs, reason: outcome.reason, crashes: 1 },
      }
    case 'snoozed':
      return { ...common, outcome: 'snoozed', delayMs: outcome.delayMs, reason: outcome.reason }
    case 'released':
      return { ...common, outcome: 'released', reason: outcome.reason }
    case 'cancelled':
      return { ...common, reason: outcome.reason }
    case 'succeeded':
    case 'completed':
    case 'handed-over':
      return common
  }
}

/** How the attempt that killed a job is noted. */
function deadOutcomeOf(reason: DeadReason, timedOut: boolean): string {
  if (timedOut) return 'timed-out'
  if (reason === 'expired') return 'expired'
  return reason === 'quarantined' ? 'crashed' : 'failed'
}

/** Which endings share a statement. */
function statementOf({ type }: Outcome): string {
  return type === 'snoozed' || type === 'crashed' ? 'released' : type
}

/** The ending without what the database would not take: it counts more than what was said about it. */
function withoutContent(ended: Ended): Ended {
  const { outcome } = ended
  const note = 'The database could not store what was here'
  switch (outcome.type) {
    case 'succeeded':
      return { ...ended, outcome: { ...outcome, result: JSON.stringify({ 'stint:unstorable': note }) } }
    case 'retry':
    case 'dead': {
      const { class: failureClass, fingerprint } = outcome.error
      const error = { class: failureClass, name: 'Error', message: note, causes: [], fingerprint }
      return { ...ended, outcome: { ...outcome, error } }
    }
    case 'crashed':
      return { ...ended, outcome: { ...outcome, reason: note } }
    case 'handed-over':
    case 'completed':
    case 'cancelled':
    case 'snoozed':
    case 'released':
      return { ...ended, outcome: { type: 'released', reason: note } }
  }
}
