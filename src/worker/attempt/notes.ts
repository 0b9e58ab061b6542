import { classify, isPerhapsOneRow } from '../../db/classify.ts'
import type { Queryable } from '../../db/statement.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import { addLog, progress } from '../../jobs/attempt/while-running.ts'
import type { Part } from '../part.ts'
import type { Report } from '../report/report.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'
import { loseJob } from './lose-job.ts'

/** One line that a handler logged. */
interface Line {
  held: HeldJob
  line: number
  at: number
  level: string
  message: string
  /** JSON text, or undefined. */
  data: string | undefined
}

interface Stand {
  held: HeldJob
  percent: number
  note: string | null
}

const everyMs = 500
/** Lines of one attempt; further ones are counted and dropped. */
const maxLines = 1_000
const maxBytes = 256 * 1024

/**
 * Progress and log lines of running jobs. Of progress only the newest matters. Both are gathered, and written a few
 * times a second for all jobs together. The rest of a job is written before its ending, because afterwards its lease is
 * gone and no worker may write about it.
 */
export class Notes implements Part {
  readonly #db: Queryable
  readonly #held: HeldJobs
  readonly #report: Pick<Report, 'abortedForLease'>
  readonly #troubles: Pick<Troubles, 'beside'>
  readonly #stands = new Map<HeldJob, Stand>()
  #lines: Line[] = []
  readonly #said = new WeakMap<HeldJob, { lines: number; bytes: number }>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(config: {
    db: Queryable
    held: HeldJobs
    report: Pick<Report, 'abortedForLease'>
    troubles: Pick<Troubles, 'beside'>
  }) {
    this.#db = config.db
    this.#held = config.held
    this.#report = config.report
    this.#troubles = config.troubles
  }

  progress(held: HeldJob, percent: number, note: string | null): void {
    if (held.isCompleted) return
    this.#stands.set(held, { held, percent, note })
    this.#schedule()
  }

  log(
    held: HeldJob,
    { level, message, data }: { level: string; message: string; data: string | undefined },
  ): void {
    const said = this.#said.get(held) ?? { lines: 0, bytes: 0 }
    this.#said.set(held, said)
    said.lines++
    said.bytes += message.length + (data?.length ?? 0)
    const isFull = said.lines > maxLines || said.bytes > maxBytes
    if (isFull && said.lines > maxLines + 1) return
    const line = { held, line: said.lines, at: performance.now() }
    if (isFull) {
      said.lines = maxLines + 1
      this.#lines.push({
        ...line,
        level: 'warn',
        message: 'More was logged than is kept for one attempt; the rest is dropped.',
        data: undefined,
      })
    } else this.#lines.push({ ...line, level, message, data })
    this.#schedule()
  }

  /** Whether the job has progress or log lines to write: most jobs never have. */
  concerns(held: HeldJob): boolean {
    return this.#said.has(held) || this.#stands.has(held)
  }

  /** Writes the progress and log lines that a job has left. */
  async finish(held: HeldJob, isProgressKept: boolean): Promise<void> {
    if (!isProgressKept) this.#stands.delete(held)
    if (this.concerns(held)) await this.flush()
  }

  /**
   * Writes everything that is gathered. Does not fail: what cannot be written in time is dropped, and the log says so.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return (this.#writing = this.#writing
      .then(() => this.#write())
      .catch((error: unknown) => {
        this.#troubles.beside('notes', error)
      }))
  }

  stop(): Promise<void> {
    return this.flush()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.flush(), everyMs)
  }

  async #write(): Promise<void> {
    const stands = [...this.#stands.values()]
    const lines = this.#lines
    this.#stands.clear()
    this.#lines = []
    for (const some of chunks(stands, 1_000)) await this.#withRetries(some, (few) => this.#writeProgress(few))
    for (const some of chunks(lines, 1_000)) await this.#withRetries(some, (few) => this.#writeLines(few))
  }

  /**
   * Notes are worth a few tries, not an endless wait. If one item may be the cause of a failure, the others are written
   * without it.
   */
  async #withRetries<Item>(
    items: readonly Item[],
    write: (items: readonly Item[]) => Promise<void>,
  ): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await write(items)
        return
      } catch (error) {
        if (items.length > 1 && isPerhapsOneRow(error)) {
          const middle = Math.ceil(items.length / 2)
          await this.#withRetries(items.slice(0, middle), write)
          await this.#withRetries(items.slice(middle), write)
          return
        }
        const trouble = classify(error)
        if (tries >= 3 || (trouble !== 'again' && trouble !== 'unknown' && trouble !== 'wait')) {
          this.#troubles.beside('notes', error)
          return
        }
      }
    }
  }

  async #writeProgress(all: readonly Stand[]): Promise<void> {
    // Two leases of one job in one statement would cross: progress of the older lease would be stored under the newer
    // one.
    const stands = all.filter(({ held }) => this.#held.isCurrent(held))
    const items = stands.map(({ held, percent, note }) => [held.job.id, { percent, note }] as const)
    const ours = await progress(this.#db, {
      ids: stands.map(({ held }) => held.job.id),
      leaseIds: [...new Set(stands.map(({ held }) => held.job.leaseId))],
      items: JSON.stringify(Object.fromEntries(items)),
    })
    for (const stand of all) {
      const { held } = stand
      const isWritten = this.#held.isCurrent(held) ? ours.get(held.job.id) : undefined
      if (isWritten === undefined) this.#lose(held)
      else if (!isWritten) this.#keep(stand)
    }
  }

  #lose(held: HeldJob): void {
    // If the handler has stored its completion, the row is expected to be gone.
    if (!held.isCompleted) loseJob(held, this.#report)
  }

  /** Keeps it for the next write, unless the job has newer progress. */
  #keep(stand: Stand): void {
    if (!this.#stands.has(stand.held)) this.#stands.set(stand.held, stand)
    this.#schedule()
  }

  async #writeLines(lines: readonly Line[]): Promise<void> {
    const now = performance.now()
    const texts = lines.map(({ held: { job }, line, at, level, message, data }) => {
      const known = {
        id: job.id,
        lease: job.leaseId,
        epoch: job.epoch,
        line,
        agoMs: now - at,
        level,
        message,
      }
      const text = JSON.stringify(known)
      return data === undefined ? text : `${text.slice(0, -1)},"data":${data}}`
    })
    await withPartitions(this.#db, () => addLog(this.#db, `[${texts.join(',')}]`))
  }
}

function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
