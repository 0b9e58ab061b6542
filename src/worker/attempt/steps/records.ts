import { isPerhapsOneRow } from '../../../db/classify.ts'
import { Coalescer } from '../../../db/coalesce.ts'
import type { Flushed } from '../../../db/coalesce.ts'
import type { Queryable } from '../../../db/statement.ts'
import { readOutputs } from '../../../flows/outputs/outputs.ts'
import type { Outputs } from '../../../flows/outputs/outputs.ts'
import { parkedTries, readRecords, record, recordKey } from '../../../flows/steps/steps.ts'
import type { NewRecord, StepRecord } from '../../../flows/steps/steps.ts'
import { approvalExpiry } from '../../../flows/waiting/approvals.ts'
import { takeSignal } from '../../../flows/waiting/waiting.ts'
import type { TakenSignal, TakeRequest } from '../../../flows/waiting/waiting.ts'
import { patiently } from './patiently.ts'

const limits = { maxItems: 500, maxBytes: 1024 * 1024 }

/**
 * Reads and writes the records of steps, for all jobs of a process together: one statement is on its way, the next one takes
 * all that gathers meanwhile.
 *
 * A write whose reply was lost is sent again: the same record is answered again. One that cannot be written for the time of a
 * lease ends its attempt, and counts as no failure of the handler.
 */
export class Records {
  readonly #db: Queryable
  readonly #leaseMs: number
  readonly #writes: Coalescer<NewRecord, boolean>
  readonly #reads: Coalescer<string, StepRecord[]>

  constructor(db: Queryable, { leaseMs }: { leaseMs: number }) {
    this.#db = db
    this.#leaseMs = leaseMs
    this.#writes = new Coalescer((records) => this.#write(records), limits)
    this.#reads = new Coalescer((ids) => this.#read(ids), limits)
  }

  /** False if the job is not this worker's any more. */
  write(one: NewRecord): Promise<boolean> {
    return this.#writes.add(one, one.result?.length ?? 0)
  }

  read(jobId: string): Promise<StepRecord[]> {
    return this.#reads.add(jobId, 0)
  }

  parkedTries(jobId: string): Promise<number> {
    return this.#patiently(() => parkedTries(this.#db, jobId))
  }

  /** When an approval link that is made now expires. */
  expiry(ms: number): Promise<number> {
    return this.#patiently(() => approvalExpiry(this.#db, ms))
  }

  /** What nodes of a flow left for other jobs. */
  outputs(flow: string, nodes: readonly string[]): Promise<Outputs> {
    return this.#patiently(() => readOutputs(this.#db, { flow, nodes }))
  }

  /** Takes a signal. After a lost reply the record says whether it was taken. */
  take(request: TakeRequest): Promise<TakenSignal | 'none' | 'lost'> {
    return this.#patiently(async (isRepeat) => {
      const taken = await takeSignal(this.#db, request)
      if (taken !== 'none' || !isRepeat) return taken
      const known = (await readRecords(this.#db, [request.id])).get(request.id) ?? []
      const own = known.find(
        ({ name, n, state }) => name === request.name && n === request.n && state === 'done',
      )
      return own === undefined ? 'none' : (own.result as TakenSignal)
    })
  }

  #patiently<Result>(send: (isRepeat: boolean) => Promise<Result>): Promise<Result> {
    return patiently(send, { schema: this.#db.schema, forMs: this.#leaseMs })
  }

  async #read(ids: readonly string[]): Promise<Flushed<StepRecord[]>[]> {
    const found = await this.#patiently(() => readRecords(this.#db, [...new Set(ids)]))
    return ids.map((id) => ({ ok: true, result: found.get(id) ?? [] }))
  }

  async #write(records: readonly NewRecord[]): Promise<Flushed<boolean>[]> {
    try {
      const written = await this.#patiently(() => record(this.#db, records, { isAlone: false }))
      const answers: Flushed<boolean>[] = []
      for (const one of records)
        answers.push({
          ok: true,
          result: written.has(recordKey(one.job, one)) || (await this.#writeAlone(one)),
        })
      return answers
    } catch (error) {
      if (records.length === 1 || !isPerhapsOneRow(causeOf(error)))
        return records.map(() => ({ ok: false, error }))
      const answers: Flushed<boolean>[] = []
      for (const one of records) answers.push(...(await this.#write([one])))
      return answers
    }
  }

  /** The job's row was in use, or the lease is gone. */
  async #writeAlone(one: NewRecord): Promise<boolean> {
    const written = await this.#patiently(() => record(this.#db, [one], { isAlone: true }))
    return written.size > 0
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : error
}
