import type { Database } from '../db/database.ts'
import type { Queryable } from '../db/statement.ts'
import { enqueue, enqueueDeciding, isPlain } from '../jobs/enqueue.ts'
import type { Placed } from '../jobs/enqueue.ts'
import { CallerError, deliver } from './deliver.ts'
import type { PreparedJob } from './new-job.ts'

export interface Progress {
  /** Jobs sent so far; of an array they are all stored together at the end, of a stream as they come. */
  sent: number
  /** Jobs in all, where that is known. */
  total: number | undefined
}

/** Rows and bytes of one statement: past these a larger batch is no faster, only later to be answered. */
const batchLimits = { maxItems: 5_000, maxBytes: 4 * 1024 * 1024 }

/** Jobs that go out together, as many as one statement may hold. */
export class Batch {
  readonly jobs: PreparedJob[] = []
  #bytes = 0

  /** False where it is full; an empty one takes any job. */
  add(job: PreparedJob): boolean {
    const { length } = this.jobs
    if (length > 0 && (length >= batchLimits.maxItems || this.#bytes + job.bytes > batchLimits.maxBytes))
      return false
    this.jobs.push(job)
    this.#bytes += job.bytes
    return true
  }
}

/** Cuts a list into statements. */
export function batchesOf(jobs: readonly PreparedJob[]): PreparedJob[][] {
  const batches: Batch[] = []
  for (const job of jobs) {
    if (batches.at(-1)?.add(job) === true) continue
    const batch = new Batch()
    batch.add(job)
    batches.push(batch)
  }
  return batches.map((batch) => batch.jobs)
}

export interface StoreAllRequest {
  jobs: readonly PreparedJob[]
  timeoutMs: number
  onBatch: (sent: number) => void
}

/** Stores all jobs or none: in one transaction, where they need more than one statement. */
export function storeAll(db: Database, { jobs, timeoutMs, onBatch }: StoreAllRequest): Promise<Placed[]> {
  const batches = batchesOf(jobs)
  const delivery = { jobIds: jobs.map(({ job }) => job.id), schema: db.schema, timeoutMs }
  return deliver(delivery, (isRepeat) => {
    const send = (target: Queryable): Promise<Placed[]> => sendBatches(target, batches, { isRepeat, onBatch })
    return batches.length > 1 ? db.transaction(send) : send(db)
  })
}

export async function sendBatches(
  db: Queryable,
  batches: readonly PreparedJob[][],
  { isRepeat, onBatch }: { isRepeat: boolean; onBatch: (sent: number) => void },
): Promise<Placed[]> {
  const placed: Placed[] = []
  for (const batch of batches) {
    placed.push(...(await sendBatch(db, batch, isRepeat)))
    try {
      onBatch(placed.length)
    } catch (error) {
      throw new CallerError(error)
    }
  }
  return placed
}

/** One statement; the one that decides as soon as one of the jobs needs it. Answers in the order given. */
export async function sendBatch(
  db: Queryable,
  batch: readonly PreparedJob[],
  isRepeat: boolean,
): Promise<Placed[]> {
  const jobs = batch.map(({ job }) => job)
  if (!isRepeat && jobs.every(isPlain)) return enqueue(db, jobs)
  // Everybody takes keys in one order, so two batches never wait for each other.
  const order = [...jobs.keys()].sort((a, b) => compare(jobs[a]?.deciding, jobs[b]?.deciding) || a - b)
  const placed = await enqueueDeciding(
    db,
    order.flatMap((index) => jobs[index] ?? []),
    isRepeat,
  )
  const answers: Placed[] = []
  for (const [place, index] of order.entries()) {
    const answer = placed[place]
    if (answer !== undefined) answers[index] = answer
  }
  return answers
}

function compare(a = '', b = ''): number {
  return a === b ? 0 : a < b ? -1 : 1
}
