import type { JobHint, PreparedJob } from '../../jobs/new/new-job.ts'

/** Rows and bytes of one statement: a larger batch is not faster, and its answer comes later. */
const limits = { maxItems: 5_000, maxBytes: 4 * 1024 * 1024 }

export type Prepare<Input> = (input: Input, index: number) => PreparedJob | Promise<PreparedJob>

/** Checks inputs and splits them into one batch per statement, lazily. */
export async function* batchesOf<Input>(
  inputs: Iterable<Input> | AsyncIterable<Input>,
  prepare: Prepare<Input>,
): AsyncGenerator<PreparedJob[]> {
  let batch = new Batch()
  let count = 0
  if (Symbol.asyncIterator in inputs) {
    for await (const input of inputs) {
      const job = await prepare(input, count++)
      if (batch.add(job)) continue
      yield batch.jobs
      batch = new Batch(job)
    }
  } else {
    // The same loop without an await for each job: the awaits alone would double the time.
    for (const input of inputs) {
      const preparing = prepare(input, count++)
      const job = preparing instanceof Promise ? await preparing : preparing
      if (batch.add(job)) continue
      yield batch.jobs
      batch = new Batch(job)
    }
  }
  if (batch.jobs.length > 0) yield batch.jobs
}

/** Keeps the batches, so that they can be sent again with the same ids. */
export class KeptBatches {
  readonly #kept: PreparedJob[][] = []
  readonly #source: AsyncIterator<PreparedJob[]>

  constructor(source: AsyncIterator<PreparedJob[]>) {
    this.#source = source
  }

  /** The batch at this index, or undefined after the last one. */
  async at(index: number): Promise<readonly PreparedJob[] | undefined> {
    while (this.#kept.length <= index) {
      const next = await this.#source.next()
      if (next.done === true) return undefined
      this.#kept.push(next.value)
    }
    return this.#kept[index]
  }

  /** Prepares and keeps all batches. */
  async all(): Promise<void> {
    while ((await this.at(this.#kept.length)) !== undefined);
  }

  hints(): Set<JobHint> {
    return new Set(this.#kept.flatMap((batch) => batch.map(({ hint }) => hint)))
  }

  ids(): string[] {
    return this.#kept.flatMap((batch) => batch.map(({ job }) => job.id))
  }
}

class Batch {
  readonly jobs: PreparedJob[]
  #bytes = 0

  constructor(...jobs: PreparedJob[]) {
    this.jobs = jobs
    for (const { bytes } of jobs) this.#bytes += bytes
  }

  /** False if it is full; an empty batch takes any job. */
  add(job: PreparedJob): boolean {
    const { length } = this.jobs
    if (length > 0 && (length >= limits.maxItems || this.#bytes + job.bytes > limits.maxBytes)) return false
    this.jobs.push(job)
    this.#bytes += job.bytes
    return true
  }
}
