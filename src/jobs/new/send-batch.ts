import type { Queryable } from '../../db/statement.ts'
import { enqueue, enqueueDeciding, isPlain } from '../enqueue.ts'
import type { Placed } from '../enqueue.ts'
import type { PreparedJob } from './new-job.ts'

/** Sends one statement: the deciding one if any of the jobs needs it. Answers in the order given. */
export async function sendBatch(
  db: Queryable,
  batch: readonly PreparedJob[],
  isRepeat: boolean,
): Promise<Placed[]> {
  const jobs = batch.map(({ job }) => job)
  if (!isRepeat && jobs.every(isPlain)) return enqueue(db, jobs)
  // All batches take keys in the same order, so two of them never wait for each other.
  const ordered = jobs
    .map((job, index) => ({ job, index }))
    .sort((a, b) => compare(a.job.deciding, b.job.deciding) || a.index - b.index)
  const placed = await enqueueDeciding(
    db,
    ordered.map(({ job }) => job),
    isRepeat,
  )
  const answers = new Array<Placed>(jobs.length)
  for (const [position, { index, job }] of ordered.entries()) {
    const answer = placed[position]
    if (answer === undefined) throw new Error(`The database gave no answer for job ${job.id}`)
    answers[index] = answer
  }
  return answers
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
