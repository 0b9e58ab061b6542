import type { InputOf, JobContract } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import { durationOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import type { Queryable } from '../../db/statement.ts'
import type { BlobConfig } from '../../jobs/new/new-job.ts'
import { sendBatch } from '../../jobs/new/send-batch.ts'
import { attempts } from '../../jobs/attempt/attempts.ts'
import type { Attempt } from '../../jobs/attempt/attempts.ts'
import { deadCounts, deadOverview } from '../../jobs/dead/dead-counts.ts'
import type { DeadCount } from '../../jobs/dead/dead-counts.ts'
import type { DeadLetterFacts, DeadReason } from '../../jobs/dead/dead-letter.ts'
import { discard } from '../../jobs/dead/discard.ts'
import { getDead } from '../../jobs/dead/get-dead.ts'
import type { StoredDeadLetter } from '../../jobs/dead/get-dead.ts'
import { linkReplaced } from '../../jobs/dead/link-replaced.ts'
import { replaceDead } from '../../jobs/dead/replace-dead.ts'
import { replay } from '../../jobs/dead/replay.ts'
import { restore } from '../../jobs/dead/restore.ts'
import { search } from '../../jobs/search/search.ts'
import { uniqueHolder } from '../../jobs/unique-holder.ts'
import { checkId } from '../job-id.ts'
import type { Calls, GetOptions } from '../calls.ts'
import { resolveListDeadOptions } from './dead-letter-options.ts'
import type { ListDeadOptions } from './dead-letter-options.ts'
import { deadLetterPage } from './dead-letter-page.ts'
import type { DeadLetterPage } from './dead-letter-page.ts'
import { prepareEdit } from './edit.ts'
import type { Edit } from './edit.ts'

/** A dead letter with its attempts. */
export interface DeadLetter extends Job, DeadLetterFacts {
  state: 'dead'
  reason: DeadReason
  /** The last 1,000, in order. An attempt that succeeded without incident is not stored. */
  attempts: Attempt[]
}

export interface ReplayOptions {
  /** How long to wait before it runs. @default none */
  delay?: Duration | undefined
}

/** Replays with another input. */
export interface EditOptions<Contract> extends ReplayOptions {
  /** The contract of the job's kind; it checks the input. */
  contract: Contract
  input: InputOf<Contract>
}

/** Jobs that will not run again by themselves: a person reads, replays or discards them. `stint.dead`. */
export class DeadLetters {
  readonly #calls: Calls
  readonly #blobs: BlobConfig | undefined
  /** Called with each job that may run again. */
  readonly #onReady: (job: Job) => void

  constructor(
    calls: Calls,
    { blobs, onReady }: { blobs: BlobConfig | undefined; onReady: (job: Job) => void },
  ) {
    this.#calls = calls
    this.#blobs = blobs
    this.#onReady = onReady
  }

  /** A page of dead letters, newest first, without those in the trash and those that an edited job replaced. */
  async list(options?: ListDeadOptions): Promise<DeadLetterPage> {
    const request = resolveListDeadOptions(options)
    return deadLetterPage(await this.#calls.send((db) => search(db, request)))
  }

  /** One dead letter with its attempts, or undefined if the job is not a dead letter. */
  async get(id: string, options?: GetOptions): Promise<DeadLetter | undefined> {
    checkId(id)
    const found = await this.#calls.send((db) => getDead(db, id))
    if (found === undefined) return undefined
    const letter = await this.#calls.withInput(found.letter, options)
    return { ...letter, attempts: await this.#calls.send((db) => attempts(db, id)) }
  }

  /** How many dead letters each of the given error groups has now, counted up to 1,000; at most 200 groups. */
  async counts(fingerprints: readonly string[]): Promise<Map<string, DeadCount>> {
    if (fingerprints.length > 200) throw invalidOption('fingerprints', 'at most 200', fingerprints.length)
    return this.#calls.send((db) => deadCounts(db, fingerprints))
  }

  /** How many dead letters are in the trash, counted up to 1,000, and when the oldest of the others died. */
  async overview(): Promise<{ trash: DeadCount; oldestDiedAt: Date | null }> {
    return this.#calls.send(deadOverview)
  }

  /**
   * Makes a dead letter a live job again, with its full number of attempts; the attempt numbers continue. With
   * `{ contract, input }` it stores a new job instead, and the dead letter names it as `replacedBy`.
   *
   * If several calls replay it at once, one succeeds; the others throw `state-changed`. Throws `duplicate-job` if a live
   * job has its unique key.
   */
  replay(id: string, options?: ReplayOptions): Promise<Job>
  replay<Contract extends JobContract>(id: string, edit: EditOptions<Contract>): Promise<Job>
  async replay(id: string, options: ReplayOptions | EditOptions<JobContract> = {}): Promise<Job> {
    checkId(id)
    const { delay = 0, contract, input, ...rest } = options as Partial<EditOptions<JobContract>>
    rejectUnknown('replay', rest, ['delay', 'contract', 'input'])
    const delayMs = durationOption('delay', delay)
    if (contract === undefined && input !== undefined)
      throw invalidOption('contract', 'given together with `input`, because it checks the input', contract)
    const dead = await this.#replayable(id)
    const job = await (contract === undefined
      ? this.#replayAsItWas(dead, delayMs)
      : this.#replayEdited(dead, { contract, input, delayMs }))
    this.#onReady(job)
    return job
  }

  /** Puts a dead letter into the trash, where it stays for 24 hours. Does nothing if it is there already. */
  async discard(id: string): Promise<Job> {
    checkId(id)
    const isDone = await this.#calls.write((db) => discard(db, id), { isDone: Boolean })
    return this.#answer(id, isDone)
  }

  /** Takes a dead letter out of the trash. Does nothing if it is not there. */
  async restore(id: string): Promise<Job> {
    checkId(id)
    const isDone = await this.#calls.write((db) => restore(db, id), { isDone: Boolean })
    return this.#answer(id, isDone)
  }

  /** The dead letter as it is now; the statement that changes it checks again that it is still the same. */
  async #replayable(id: string): Promise<StoredDeadLetter> {
    const dead = await this.#calls.send((db) => getDead(db, id))
    if (dead === undefined) throw refusal(await this.#calls.find(id))
    if (whyNotReplay(dead.letter) !== undefined) throw refusal(dead.letter)
    return dead
  }

  async #replayAsItWas({ letter }: StoredDeadLetter, delayMs: number): Promise<Job> {
    const { id, epoch } = letter
    const isDone = await this.#unlessTaken(id, () =>
      this.#calls.write(
        async (db, isRepeat) =>
          (await replay(db, { id, epoch, delayMs })) || (isRepeat && (await isBack(db, letter))),
        { isDone: Boolean },
      ),
    )
    return this.#answer(id, isDone)
  }

  /** Tries again if the job that had the unique key ended between the refusal and our look at it. */
  async #unlessTaken<Result>(id: string, send: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await send()
      } catch (error) {
        if (!isStintError(error, 'duplicate-job') || tries === 5) throw error
        const holder = await this.#calls.send((db) => uniqueHolder(db, id))
        if (holder !== undefined) throw duplicate({ id }, holder, error.cause)
      }
    }
  }

  async #replayEdited(dead: StoredDeadLetter, edit: Edit): Promise<Job> {
    const { id, epoch, kind } = dead.letter
    if (edit.contract.kind !== kind) {
      const message = `Job ${id} is of kind '${kind}', so the contract of '${edit.contract.kind}' cannot edit it.`
      throw new StintError('state-changed', message, { jobIds: [id] })
    }
    const letter = await this.#calls.withInputIfThere(dead.letter)
    const prepared = await prepareEdit(edit, { ...dead, letter }, this.#blobs)
    const newId = prepared.job.id
    // The dead letter first: its row decides which of several calls succeeds, before a job is stored.
    const store = async (tx: Queryable, isRepeat: boolean): Promise<boolean> => {
      if (!(await replaceDead(tx, { id, epoch, replacedBy: newId }))) return false
      const [placed] = await sendBatch(tx, [prepared], isRepeat)
      if (placed?.placement !== 'stored') throw duplicate(dead.letter, placed?.id)
      await linkReplaced(tx, { id: newId, replaces: id })
      return true
    }
    const options = { jobIds: [newId], isTransaction: true, isDone: Boolean }
    try {
      if (await this.#calls.write(store, options)) return await this.#answer(newId, true)
      throw refusal(await this.#calls.find(id))
    } catch (error) {
      // If it is unknown whether the job was stored, the blob stays: pruneBlobs() deletes it if no job refers to it.
      if (prepared.blob !== undefined && isRefused(error))
        await this.#blobs?.store.delete(prepared.blob.key).catch(() => undefined)
      throw error
    }
  }

  async #answer(id: string, isDone: boolean): Promise<Job> {
    const job = await this.#calls.find(id)
    if (!isDone) throw refusal(job)
    return this.#calls.withInputIfThere(job)
  }
}

/** Whether a replay whose reply was lost was done: the job is live, has ended in another state, or died again since. */
async function isBack(db: Queryable, { id, epoch }: Job): Promise<boolean> {
  const dead = await getDead(db, id)
  return dead === undefined || dead.letter.epoch > epoch
}

function duplicate({ id }: { id: string }, holder: string | undefined, cause?: unknown): StintError {
  return new StintError(
    'duplicate-job',
    `Job ${holder ?? ''} already holds the unique key of dead letter ${id}. Nothing was changed.`,
    { cause, jobIds: holder === undefined ? [] : [holder] },
  )
}

function refusal(job: Job): StintError {
  const why = whyNotReplay(job) ?? 'was changed by another call in the meantime; read it again'
  const message = `Job ${job.id} of '${job.kind}' ${why}.`
  return new StintError('state-changed', message, { jobIds: [job.id], current: job })
}

/** Why a job is not a dead letter that can be changed; undefined if it is one. */
export function whyNoDeadLetter({ state, replacedBy }: Job): string | undefined {
  if (state !== 'dead') return `is ${state}, so it is not a dead letter`
  return replacedBy === null ? undefined : `was replaced by the edited job ${replacedBy}; use that one`
}

/** Why a dead letter cannot be replayed as it is. */
export function whyNotReplay(job: Job): string | undefined {
  return whyNoDeadLetter(job) ?? (job.discardedAt === null ? undefined : 'is in the trash; restore it first')
}

function isRefused(error: unknown): boolean {
  return isStintError(error, 'duplicate-job') || isStintError(error, 'state-changed')
}
