import { setTimeout as pause } from 'node:timers/promises'
import { isStintError } from '../../core/errors.ts'
import { classify, DeadlineError, isLockTimeout, isPerhapsOneRow } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import { isRefusal } from '../../jobs/new/refusal.ts'
import type { JobHint } from '../../jobs/new/new-job.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
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
import { suspend } from '../../flows/waiting/waiting.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import { failedWith } from '../attempt/execute.ts'
import type { HeldJob, HeldJobs } from '../attempt/held-job.ts'
import type { Notes } from '../attempt/notes.ts'
import type { Ended, Outcome } from '../attempt/outcome.ts'
import type { Handlers } from '../handlers.ts'
import type { Part, Watched } from '../part.ts'
import type { Troubles } from '../watch/troubles.ts'
import { FlowCounts, toHint } from './flow-counts.ts'
import {
  isLinked,
  itemsOf,
  leasesOf,
  resultsOf,
  sizeOf,
  statementOf,
  suspensionsOf,
  withoutContent,
} from './items.ts'
import { Lane } from './lane.ts'
import { storeLinked } from './linked.ts'
import type { RetryBudgets } from './retry-budgets.ts'
import { succeedIn } from './succeed-with-children.ts'

/** How an ending was handled: stored, or refused because the job's lease is gone. `outcome` is the one that counts. */
export interface Settled extends Ended {
  readonly type: 'stored' | 'refused'
}

export interface SettlerConfig {
  db: Database
  held: HeldJobs
  handlers: Pick<Handlers, 'get'>
  /** Announces children that were stored with a success. */
  announcer: Pick<Announcer, 'stored'>
  /** Notes in a job's log that a part of its row was cut. */
  notes: Pick<Notes, 'log' | 'flush'>
  troubles: Pick<Troubles, 'of' | 'ofJobs' | 'beside' | 'wentWell'>
  /** Says when retries may come. */
  budgets: Pick<RetryBudgets, 'place'>
}

/** An ending, and the promise of its result. */
interface Pending extends Ended {
  readonly resolve: (settled: Settled) => void
}

/** A group that takes further endings. */
interface OpenGroup {
  readonly workerId: string
  readonly statement: string
  group: Pending[]
  bytes: number
}

interface Sending {
  /** Where it waits for its turn. */
  lane: Lane<Pending>
  /** An earlier try may have been stored. */
  wasUnknown?: boolean
  /** It is tried now and then, apart from all others. */
  isParked?: boolean
  /** Rows were checked for values that are too long. */
  wasCut?: boolean
}

const maxBatchBytes = 1024 * 1024

/**
 * Stores how attempts ended: grouped by the way they ended, capped, each batch one statement under the fence.
 *
 * A batch (lane.ts) holds a job once, and only under the newest lease that this process has for it; an older lease is
 * sent alone, because a statement with two lists (ids, leases) would accept a late result of job X under lease A if X
 * runs here again under B and B is also in the batch.
 *
 * No ending is dropped while the process lives: a settle whose reply was lost is sent again with the same lease, and
 * rows that then do not match are looked up: settled by the first try, or lost.
 */
export class Settler implements Part {
  readonly #config: SettlerConfig
  readonly #plain = this.#newLane()
  /** Endings with a flow or records cost more: they take none of the places of the plain ones. */
  readonly #linked = this.#newLane()
  readonly #counts: FlowCounts

  constructor(config: SettlerConfig) {
    this.#config = config
    this.#counts = new FlowCounts(config)
  }

  #newLane(): Lane<Pending> {
    const lane: Lane<Pending> = new Lane((batch) =>
      Promise.all(this.#groups(batch).map((group) => this.#send(group, { lane }))),
    )
    return lane
  }

  /** Stores an ending. Resolves once it is stored or refused: only then there is room for another job. */
  settle({ held, outcome, ranMs }: Ended): Promise<Settled> {
    return new Promise((resolve) => {
      const ended = { held, outcome: this.#placed(held, outcome), ranMs, resolve }
      const lane = isLinked(ended) ? this.#linked : this.#plain
      lane.add(ended)
    })
  }

  #placed<Any extends Outcome>(held: HeldJob, outcome: Any): Any {
    return outcome.type === 'retry' ? (this.#config.budgets.place(held, outcome) as Any) : outcome
  }

  /** Since when it has got no answer, while there is something to settle. */
  readonly turns: readonly Watched[] = [
    { name: 'settle', since: () => this.#plain.since },
    { name: 'settle-linked', since: () => this.#linked.since },
  ]

  /** Resolves when all endings have been stored or refused. */
  async stop(): Promise<void> {
    await Promise.all([this.#plain.idle(), this.#linked.idle()])
    await this.#counts.stop()
  }

  /** Groups by ending; an item is alone if it has children, or a lease that is not the newest. */
  #groups(batch: readonly Pending[]): Pending[][] {
    const groups: Pending[][] = []
    const open: OpenGroup[] = []
    for (const ended of batch) {
      const { held, outcome } = ended
      const isAlone =
        !this.#config.held.isCurrent(held) || outcome.type === 'handed-over' || hasChildren(ended)
      if (isAlone) {
        groups.push([ended])
        continue
      }
      const { workerId } = held
      const statement = statementOf(outcome)
      const bytes = sizeOf(outcome)
      // There are a few at most, and nearly always one: a key of text for each job costs more than this search.
      const current = open.find((one) => one.statement === statement && one.workerId === workerId)
      if (current !== undefined && current.bytes + bytes <= maxBatchBytes) {
        current.group.push(ended)
        current.bytes += bytes
        continue
      }
      const group = [ended]
      groups.push(group)
      if (current === undefined) open.push({ workerId, statement, group, bytes })
      else Object.assign(current, { group, bytes })
    }
    return groups
  }

  /**
   * Sends one group until the answer is known for each of its jobs. If one of them may be the cause of a failure, the
   * others are sent without it; that one is tried now and then for as long as the process lives.
   */
  async #send(
    group: readonly Pending[],
    { lane, wasUnknown = false, isParked = false, wasCut = false }: Sending,
  ): Promise<void> {
    const { db, handlers, troubles } = this.#config
    let isRepeat = wasUnknown
    let isBare = false
    let isCut = wasCut
    let known: readonly Pending[] | undefined
    for (let tries = 1; ; tries++) {
      if (isParked && !isBare) await pause(Math.random() * Math.min(30_000, 500 * 2 ** Math.min(tries, 6)))
      try {
        const found = (known ??= await this.#afterHandOver(group))
        const endings = isBare ? found.map(withoutContent) : found
        const moved = new Set(await withPartitions(db, () => this.#store(endings)))
        await this.#conclude(endings, moved, isRepeat)
        lane.turned()
        return
      } catch (error) {
        lane.turned()
        // Not an error of the database: its connections were closed, after the time for stopping was over.
        if (isStintError(error, 'client-closed')) return
        if (isRefusal(error)) {
          const failed = group.map((ended) => {
            const { contract } = handlers.get(ended.held.job.kind)
            return { ...ended, outcome: this.#placed(ended.held, failedWith(ended.held, contract, error)) }
          })
          await this.#send(failed, { lane, wasUnknown: isRepeat })
          return
        }
        const trouble = classify(error)
        if (trouble === 'unknown') isRepeat = true
        // For all rows at once, before each is tried alone: there may be thousands of such rows.
        if (trouble === 'value' && !isCut) {
          isCut = true
          if (await this.#cut(group)) continue
        }
        const isOneJobs = isPerhapsOneRow(error) || isInTheWay(error, tries)
        if (isOneJobs && group.length > 1) {
          const middle = Math.ceil(group.length / 2)
          const halves = [group.slice(0, middle), group.slice(middle)]
          const sending = { lane, wasUnknown: isRepeat, wasCut: isCut }
          await Promise.all(halves.map((half) => this.#send(half, sending)))
          return
        }
        // Perhaps only the details of the ending are refused. If the ending fails without them too, they are kept.
        isBare = trouble === 'value' && !isBare
        if (isBare) continue
        if (isOneJobs)
          troubles.ofJobs(
            'settle',
            error,
            group.map(({ held }) => held.job.id),
          )
        else troubles.of('settle', error)
        if (isOneJobs && !isParked) {
          void this.#send(group, { lane, wasUnknown: isRepeat, wasCut: isCut, isParked: true })
          return
        }
        const longestMs = trouble === 'broken' ? 30_000 : 2_000
        if (!isParked) await pause(Math.random() * Math.min(longestMs, 20 * 2 ** Math.min(tries, 12)))
      }
    }
  }

  /** Whether some of their rows had values that are too long to be stored with an ending; these values are cut now. */
  async #cut(group: readonly Ended[]): Promise<boolean> {
    const { db, notes } = this.#config
    try {
      const columns = await cutRows(db, leasesOf(group))
      const cut = group.filter(({ held }) => (columns.get(held.job.id) ?? []).length > 0)
      if (cut.length === 0) return false
      for (const { held } of cut) {
        const message = `Too long to be stored, and cut: ${columns.get(held.job.id)?.join(', ')}.`
        notes.log(held, { level: 'warn', message, data: undefined })
      }
      await notes.flush()
      return true
    } catch {
      return false
    }
  }

  async #conclude(group: readonly Pending[], moved: ReadonlySet<string>, isRepeat: boolean): Promise<void> {
    const { db, troubles } = this.#config
    const missing = group.filter(({ held }) => !moved.has(held.job.id))
    if (missing.length === 0) {
      troubles.wentWell('settle')
      this.#announceChildren(group)
      this.#count(group)
      for (const ended of group) answer(ended, 'stored')
      return
    }
    const sinceMs = Math.max(...missing.map(({ held }) => performance.now() - held.heldSince))
    const before = isRepeat
      ? new Set(await settled(db, { ...leasesOf(missing), sinceMs }))
      : new Set<string>()
    const refused = missing.filter(({ held }) => !before.has(held.job.id))
    await this.#noteRefused(refused)
    if (refused.length < group.length) troubles.wentWell('settle')
    const lost = new Set(refused)
    const stored = group.filter((ended) => !lost.has(ended))
    this.#announceChildren(stored)
    this.#count(stored)
    for (const ended of group) answer(ended, lost.has(ended) ? 'refused' : 'stored')
  }

  #announceChildren(group: readonly Ended[]): void {
    const hints = new Set<JobHint>()
    for (const { outcome } of group) {
      if (outcome.type === 'succeeded' || outcome.type === 'completed')
        for (const { hint } of outcome.children) hints.add(hint)
    }
    if (hints.size > 0) this.#config.announcer.stored(hints)
  }

  /** Their flows are counted soon: what waits for these endings may start. */
  #count(group: readonly Ended[]): void {
    const flows: string[] = []
    for (const { held, outcome } of group) {
      const flow = held.job.more?.flowId ?? null
      if (flow !== null && isFinal(outcome)) flows.push(flow)
    }
    if (flows.length > 0) this.#counts.ended(flows)
  }

  /** A note for people; it must not delay or fail anything else. */
  async #noteRefused(refused: readonly Ended[]): Promise<void> {
    if (refused.length === 0) return
    const { db, troubles } = this.#config
    const items = refused.map(({ held: { job, workerId }, outcome, ranMs }) => ({
      id: job.id,
      lease: job.leaseId,
      epoch: job.epoch,
      attempt: job.attempt,
      ranMs,
      worker: workerId,
      reason: `late settle refused: ${outcome.type}`,
    }))
    await withPartitions(db, () => noteRefused(db, JSON.stringify(items))).catch((error: unknown) => {
      troubles.of('settle', error)
    })
  }

  #store(group: readonly Ended[]): Promise<string[]> {
    const { db } = this.#config
    const [first] = group
    if (first === undefined) return Promise.resolve([])
    const batch = { ...leasesOf(group), lockMs: db.lockWaitMs }
    if (isLinked(first) && !hasChildren(first)) return storeLinked(db, group, batch.lockMs)
    switch (first.outcome.type) {
      case 'succeeded':
        return hasChildren(first)
          ? db.transaction((tx) => succeedIn(tx, first))
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
      case 'waiting':
        return this.#suspend(group, first.held.workerId)
      case 'dead':
        return deadLetter(db, { ...batch, items: itemsOf(group) })
      case 'cancelled':
        return cancelRunning(db, { ...batch, items: itemsOf(group) })
    }
  }

  /** A job whose wait is over already is ready again: workers are told. */
  async #suspend(group: readonly Ended[], worker: string): Promise<string[]> {
    const { db, announcer } = this.#config
    const items = suspensionsOf(group)
    const { ids, woken } = await suspend(db, { items, worker, lockMs: db.lockWaitMs })
    if (woken.length > 0) announcer.stored(new Set(woken.map(toHint)))
    return ids
  }

  /** A handler that stores its completion in its own transaction may have committed or not: only the database knows. */
  async #afterHandOver(group: readonly Pending[]): Promise<readonly Pending[]> {
    const [first] = group
    if (first?.outcome.type !== 'handed-over') return group
    const { children, otherwise } = first.outcome
    const sinceMs = performance.now() - first.held.heldSince
    const found = await settled(this.#config.db, { ...leasesOf([first]), sinceMs })
    const outcome: Outcome =
      found.length > 0 ? { type: 'completed', children } : this.#placed(first.held, otherwise)
    return [{ ...first, outcome }]
  }
}

function hasChildren({ outcome }: Ended): boolean {
  return outcome.type === 'succeeded' && outcome.children.length > 0
}

/** Whether the job does not run again by itself. */
function isFinal({ type }: Outcome): boolean {
  return type === 'succeeded' || type === 'completed' || type === 'dead' || type === 'cancelled'
}

function answer({ held, outcome, ranMs, resolve }: Pending, type: Settled['type']): void {
  resolve({ type, held, outcome, ranMs })
}

/**
 * Send rows one by one after this many tries: another session holds a lock on one of them, or always wins a conflict.
 */
function isInTheWay(error: unknown, tries: number): boolean {
  const hasWaited = error instanceof DeadlineError || isLockTimeout(error)
  return (classify(error) === 'again' && tries >= 5) || (hasWaited && tries >= 2)
}
