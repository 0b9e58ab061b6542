import type { Board, Watched } from './board.ts'
import { pauseOfQueue } from '../../jobs/pauses/pauses.ts'
import type { State } from './delta.ts'
import type { JobBrief, LiveQueue, LiveSource } from './source.ts'
import type { Topic } from './topic.ts'

const mostIds = 1_000
/** Gauges are refreshed every two seconds. */
const queuesEveryMs = 1_000
const workersEveryMs = 2_000

/** Reads all topics that have viewers: one read per type. Passes the states to the board. */
export class Poll {
  readonly #source: LiveSource
  readonly #board: Board
  readonly #readAt = { queues: -Infinity, workers: -Infinity }

  constructor({ source, board }: { source: LiveSource; board: Board }) {
    this.#source = source
    this.#board = board
  }

  /** Makes the next poll read this topic, even if its type is not due yet. */
  soon({ type }: Topic): void {
    if (type === 'overview' || type === 'queue') this.#readAt.queues = -Infinity
    if (type === 'workers') this.#readAt.workers = -Infinity
  }

  /** Makes the next poll read all types. */
  allSoon(): void {
    this.#readAt.queues = this.#readAt.workers = -Infinity
  }

  async once(): Promise<void> {
    await this.#readJobs()
    await this.#readOperations()
    const now = performance.now()
    await this.#readQueues(now)
    await this.#readWorkers(now)
  }

  async #readJobs(): Promise<void> {
    // A job that has succeeded or was cancelled does not change any more.
    const open = this.#board.seen('job').filter((one) => !isOver(one))
    const ids = [...new Set(open.map(ofTopic))]
    const jobs = new Map<string, JobBrief>()
    for (let at = 0; at < ids.length; at += mostIds)
      for (const job of await this.#source.jobs(ids.slice(at, at + mostIds))) jobs.set(job.id, job)
    for (const one of open) {
      const job = jobs.get(ofTopic(one))
      const about = job === undefined ? [] : [{ queue: job.queue, kind: job.kind, key: job.key }]
      this.#board.found(one, job ?? null, about)
    }
  }

  async #readOperations(): Promise<void> {
    const watched = this.#board.seen('operation')
    if (watched.length === 0) return
    const ids = watched.slice(0, mostIds).map(ofTopic)
    const found = new Map((await this.#source.operations(ids)).map((one) => [one.id, one as State]))
    for (const one of watched) this.#board.found(one, found.get(ofTopic(one)) ?? null, [])
  }

  /** The overview contains all queues: one read serves both topics. */
  async #readQueues(now: number): Promise<void> {
    const [overviews, queues] = [this.#board.seen('overview'), this.#board.seen('queue')]
    if (overviews.length + queues.length === 0 || now - this.#readAt.queues < queuesEveryMs) return
    const view = await this.#source.overview()
    this.#board.setView('overview', view)
    this.#readAt.queues = now
    for (const watched of overviews) this.#board.found(watched, view.all, view.about)
    const byName = new Map(view.all.queues.map((queue) => [queue.queue, forAll(queue)]))
    for (const watched of queues) {
      const queue = ofTopic(watched)
      this.#board.found(watched, byName.get(queue) ?? null, [{ queue }])
    }
  }

  async #readWorkers(now: number): Promise<void> {
    const workers = this.#board.seen('workers')
    if (workers.length === 0 || now - this.#readAt.workers < workersEveryMs) return
    const view = await this.#source.workers()
    this.#board.setView('workers', view)
    this.#readAt.workers = now
    for (const watched of workers) this.#board.found(watched, view.all, view.about)
  }
}

function isOver({ state, isFresh }: Watched): boolean {
  return isFresh && (state?.['state'] === 'succeeded' || state?.['state'] === 'cancelled')
}

function ofTopic({ topic }: Watched): string {
  return 'of' in topic ? topic.of : topic.name
}

/** A queue as every caller sees it who may see the queue: without the kinds and keys that are paused. */
function forAll(queue: LiveQueue): NonNullable<State> {
  const own = pauseOfQueue(queue.pauses)
  return { ...queue, pauses: own === undefined ? [] : [own] }
}
