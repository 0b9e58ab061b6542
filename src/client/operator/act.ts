import { isWritten, writeAudit } from '../../operations/audit/audit.ts'
import type { NewAuditEntry } from '../../operations/audit/audit.ts'
import { StintError } from '../../core/errors.ts'
import type { Job, JobState } from '../../core/job.ts'
import { jobStates } from '../../core/job.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import type { Queryable } from '../../db/statement.ts'
import { get } from '../../jobs/get.ts'
import { lockJob } from '../../jobs/change/lock.ts'
import { missingJob } from '../job-id.ts'

/** The state that a person saw: if it has changed since, the act is refused. */
export interface Expect {
  state: JobState
  epoch?: number | undefined
}

export function resolveExpect(expect: unknown): Expect | undefined {
  if (expect === undefined) return undefined
  if (typeof expect !== 'object' || expect === null)
    throw invalidOption('expect', "an object such as { state: 'dead' }", expect)
  const { state, epoch, ...rest } = expect as Partial<Expect>
  rejectUnknown('expect', rest, ['state', 'epoch'], 'expect.')
  return {
    state: oneOfOption('expect.state', state, jobStates),
    epoch: epoch === undefined ? undefined : integerOption('expect.epoch', epoch, { min: 0 }),
  }
}

export interface ActConfig {
  entry: NewAuditEntry
  /** The job that the act changes, if it changes one. */
  jobId?: string | undefined
  expect?: Expect | undefined
}

interface Noting<Result> {
  isRepeat: boolean
  isDone: (result: Result) => boolean
  work: () => Promise<Result>
}

/**
 * One act of one person: its changes and their audit entry are one transaction. The entry has an id from the start, so
 * that a call that is repeated after a lost reply finds the entry and knows that the act was committed.
 */
export class Act {
  readonly entry: NewAuditEntry
  /** Its audit entry is stored, so the act is done: later changes of this act need no further entry. */
  isNoted = false
  #isWritten = false
  readonly #jobId: string | undefined
  readonly #expect: Expect | undefined

  constructor({ entry, jobId, expect }: ActConfig) {
    this.entry = entry
    this.#jobId = jobId
    this.#expect = expect
  }

  /** Runs a change inside a transaction and writes its audit entry there. */
  async note<Result>(tx: Queryable, { isRepeat, isDone, work }: Noting<Result>): Promise<Result> {
    if (this.isNoted) return work()
    this.#isWritten = isRepeat && (await isWritten(tx, this.entry.id))
    if (this.#isWritten) return work()
    const before = this.#jobId === undefined ? this.entry.before : await this.#look(tx, this.#jobId)
    const result = await work()
    if (!isDone(result)) return result
    await writeAudit(tx, { ...this.entry, before })
    this.#isWritten = true
    return result
  }

  /** The transaction with the audit entry is committed. */
  committed(): void {
    if (this.#isWritten) this.isNoted = true
  }

  /** Locks the job until the act is committed and returns it. Throws if it has changed since the person saw it. */
  async #look(tx: Queryable, id: string): Promise<unknown> {
    const locked = await lockJob(tx, id)
    const found = locked ?? (await get(tx, id)) ?? missingJob(id)
    const { state, epoch, priority, runAt, attempt } = found
    const expect = this.#expect
    if (expect !== undefined) {
      const isAsSeen = state === expect.state && (expect.epoch === undefined || epoch === expect.epoch)
      if (!isAsSeen) throw changed((await get(tx, id)) ?? missingJob(id), expect)
      if (locked === undefined && isLive(state)) throw inUse((await get(tx, id)) ?? missingJob(id))
    }
    return { state, epoch, attempt, priority, runAt }
  }
}

function isLive(state: JobState): boolean {
  return state !== 'succeeded' && state !== 'cancelled' && state !== 'dead'
}

function changed(job: Job, expect: Expect): StintError {
  const seen = expect.epoch === undefined ? expect.state : `${expect.state} in epoch ${expect.epoch}`
  const is = expect.epoch === undefined ? job.state : `${job.state} in epoch ${job.epoch}`
  return new StintError('state-changed', `Job ${job.id} of '${job.kind}' is now ${is}; expected ${seen}.`, {
    jobIds: [job.id],
    current: job,
  })
}

function inUse(job: Job): StintError {
  const message = `Job ${job.id} of '${job.kind}' is in a transaction of its handler at this moment: try again.`
  return new StintError('state-changed', message, { jobIds: [job.id], current: job })
}
