import { randomUUID } from 'node:crypto'
import type { JobState } from '../../core/job.ts'
import type { LiveTrouble } from '../api/events.ts'
import type { Caller } from '../auth/caller.ts'
import { afterSilence } from './after-silence.ts'
import { Board } from './board.ts'
import { QueueListener } from './queue-listener.ts'
import { Poll } from './poll.ts'
import type { LiveSource } from './source.ts'
import { digestOf } from './topic.ts'
import type { Topic } from './topic.ts'
import { eventText, Viewer } from './viewer.ts'
import { Waits } from './waits.ts'

/*
 * What changes, told to whoever looks: server-sent events, and the end of a job for those who wait for it.
 *
 * There is one Live for a console, and it is one loop. Every half second it reads what anybody looks at: all jobs in one
 * statement, all operations in one, the queues and the workers once for all. So a hundred viewers cost the database what
 * one costs. The loop begins with the first viewer or wait and ends with the last: when nobody looks nothing is asked.
 * Beside it there is at most one LISTEN, for what is stored meanwhile; it only makes things faster, and nothing hangs on it.
 *
 * A topic is what is looked at: `overview`, `workers`, `queue:q`, `job:id`, `operation:id`. The loop keeps the last state
 * of each. A viewer gets the state (`snapshot`), then what changes (`delta`). Deltas are made of states and not of events,
 * so what happened between two looks is in the next one: a tick that is late, or fails, loses nothing but time.
 *
 * Every delta has a number, one row of them for all topics, and stays in a ring for a while. A viewer that comes back says
 * the last number it saw (Last-Event-ID) and gets what followed, each once. That needs three things: the number is of this
 * process and of these topics (both are in the id), the ring still has all that followed, and each topic is remembered
 * since. A topic without viewers is remembered for a minute, unread; whoever comes back within it gets the difference.
 * Otherwise the viewer gets `reset`, and everything anew. Until a viewer has been shown all its topics, what it gets has
 * no id: it could not go on from there.
 *
 * What a viewer may see is asked of its caller, for every event; whether the caller still is one, every minute. A caller who
 * sees only some queues gets the overview of these, and the workers that serve them, whole each time: it shares no deltas
 * with others. Who may see an operation is asked when the stream is opened (routes/events.ts).
 *
 * A reader that does not read is cut off when a megabyte waits for it, and comes back by itself. When the database does not
 * answer, all are told so (`trouble`), and when it does again (`healed`); what they show is then brought up to date.
 *
 * Here are the loop and who looks. What a look reads is in live/poll.ts, what is known and told of each topic in
 * live/board.ts, the LISTEN in live/queue-listener.ts, and those who wait for a job in live/waits.ts.
 */

export interface LiveOptions {
  source: LiveSource
  /** How often to look. @default 500 */
  tickMs?: number
  /** How often to say that the stream lives. @default 15,000 */
  pingMs?: number
  /** How often to ask whether a caller still may look. @default 60,000 */
  recheckMs?: number
  /** How long a topic is remembered that nobody looks at. @default 60,000 */
  lingerMs?: number
  /** Deltas that are remembered. @default 2,000 */
  ring?: number
  /** Bytes that may wait for a reader. @default 1,000,000 */
  mostBytes?: number
  /** Streams of one actor. @default 20 */
  mostPerActor?: number
  /** Streams in all. @default 500 */
  mostViewers?: number
  /** Told why it cannot look, once until it can again. @default nobody */
  onTrouble?: (error: unknown) => void
}

export interface ViewRequest {
  caller: Caller
  topics: readonly Topic[]
  lastEventId?: string | undefined
  /** Aborted where its reader is gone, maybe before anybody reads the stream and so could cancel it. */
  signal?: AbortSignal | undefined
  /** Asks again who it is; undefined where the caller is none any more. */
  recheck: () => Promise<Caller | undefined>
}

/** An answer that takes longer than this is told as trouble, whether it comes or not. */
const patienceMs = 3_000
const longestPauseMs = 5_000
/** However many come at once, the loop is not woken more often. */
const shortestPauseMs = 100

export class Live {
  readonly #options: Required<Omit<LiveOptions, 'source'>>
  readonly #epoch = randomUUID().slice(0, 8)
  readonly #viewers = new Map<Viewer, { recheck: ViewRequest['recheck']; checkedAt: number }>()
  readonly #waits = new Waits()
  readonly #board: Board
  readonly #poll: Poll
  readonly #listener: QueueListener
  #looking: Promise<void> | undefined
  #wake: (() => void) | undefined
  #trouble: LiveTrouble | undefined
  #failures = 0
  #beat: NodeJS.Timeout | undefined
  #isClosed = false
  /** Readers that were cut off, since it was made. */
  dropped = 0
  /** Times that it has looked. */
  ticks = 0

  constructor({ source, ...options }: LiveOptions) {
    this.#options = {
      tickMs: 500,
      pingMs: 15_000,
      recheckMs: 60_000,
      lingerMs: 60_000,
      ring: 2_000,
      mostBytes: 1_000_000,
      mostPerActor: 20,
      mostViewers: 500,
      onTrouble: () => undefined,
      ...options,
    }
    this.#board = new Board(this.#options)
    this.#poll = new Poll({ source, board: this.#board, waits: this.#waits })
    this.#listener = new QueueListener(source)
  }

  /** Streams that are open. */
  get viewers(): number {
    return this.#viewers.size
  }

  /** Requests that wait for the end of a job. */
  get waits(): number {
    return this.#waits.size
  }

  /** Whether its loop runs. */
  get isLooking(): boolean {
    return this.#looking !== undefined
  }

  /** Whether it has a connection of its own to hear of what is stored. */
  get isListening(): boolean {
    return this.#listener.isListening
  }

  /** Whether another stream may be opened for this actor. */
  hasRoomFor(actor: string): boolean {
    const { mostPerActor, mostViewers } = this.#options
    if (this.#isClosed || this.#viewers.size >= mostViewers) return false
    let own = 0
    for (const { caller } of this.#viewers.keys()) if (caller.actor === actor) own++
    return own < mostPerActor
  }

  /** A stream of what changes about some topics. */
  open({ caller, topics, lastEventId, signal, recheck }: ViewRequest): ReadableStream<Uint8Array> {
    this.#board.forgetOld()
    const epoch = `${this.#epoch}${digestOf(topics)}`
    const viewer: Viewer = new Viewer({
      caller,
      topics,
      epoch,
      mostBytes: this.#options.mostBytes,
      onGone: (isSlow) => {
        if (isSlow) this.dropped++
        this.#leave(viewer)
      },
    })
    // At once, so that whoever opened it knows that it is open.
    viewer.send(': stint\n')
    const missed = lastEventId === undefined ? undefined : this.#board.missed(viewer, lastEventId, epoch)
    if (lastEventId !== undefined && missed === undefined) viewer.send('id:\nevent: reset\ndata: {}\n')
    this.#viewers.set(viewer, { recheck, checkedAt: performance.now() })
    for (const topic of viewer.topics.values()) this.#join(topic, viewer)
    if (missed === undefined) for (const topic of viewer.topics.keys()) this.#board.show(topic, viewer)
    else {
      viewer.unseen.clear()
      for (const { text, seq } of missed) viewer.send(text, seq)
    }
    if (this.#trouble !== undefined) viewer.send(eventText('trouble', this.#trouble))
    const leave = (): void => {
      viewer.close()
    }
    if (signal?.aborted === true) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    if (!this.#isOver()) this.#start()
    return viewer.stream
  }

  /** Whether another may wait for the end of a job. */
  get hasRoomToWait(): boolean {
    return !this.#isClosed && this.#waits.hasRoom
  }

  /** How a job ended, within `ms`; undefined where it has not, or is not there. One loop serves all who wait. */
  jobEnded(id: string, ms: number): Promise<JobState | undefined> {
    if (!this.hasRoomToWait) return Promise.resolve(undefined)
    const ended = this.#waits.add(id, ms)
    this.#start()
    return ended
  }

  /** Ends all streams and waits. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const viewer of [...this.#viewers.keys()]) viewer.close()
    this.#waits.endAll()
    this.#wake?.()
    await this.#looking
    await this.#listener.ended()
  }

  #join(topic: Topic, viewer: Viewer): void {
    if (!this.#board.join(topic, viewer)) return
    this.#poll.soon(topic)
    this.#wake?.()
  }

  #leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return
    this.#board.leave(viewer)
    if (this.#isOver()) this.#wake?.()
  }

  #start(): void {
    if (this.#viewers.size > 0) this.#listener.begin()
    this.#beat ??= setInterval(() => {
      this.#ping()
    }, this.#options.pingMs).unref()
    if (this.#looking === undefined)
      this.#looking = this.#loop().finally(() => {
        this.#looking = undefined
        // Somebody may have come at the very end.
        if (!this.#isOver()) this.#start()
      })
    else this.#wake?.()
  }

  async #loop(): Promise<void> {
    while (!this.#isOver()) {
      const begunAt = performance.now()
      const endPatience = afterSilence(patienceMs, () => {
        this.#tellTrouble(`The database has not answered for ${patienceMs / 1_000} s`)
      })
      try {
        this.ticks++
        await this.#poll.once()
        this.#tellStored()
        this.#tellHealed()
      } catch (error) {
        this.#failures++
        if (this.#trouble === undefined) this.#options.onTrouble(error)
        // Whatever it is, no statement, address or value of it is for those who look.
        this.#tellTrouble('The console cannot reach its database, or was refused there')
      } finally {
        endPatience()
      }
      if (this.#isOver()) break
      const { tickMs } = this.#options
      const pauseMs = this.#failures === 0 ? tickMs : Math.min(longestPauseMs, tickMs * 2 ** this.#failures)
      await this.#pause(begunAt + shortestPauseMs, begunAt + pauseMs)
    }
    clearInterval(this.#beat)
    this.#beat = undefined
    this.#poll.allSoon()
    this.#listener.end()
  }

  /** Nobody looks any more. A method, for it changes while it is waited for. */
  #isOver(): boolean {
    return this.#isClosed || (this.#viewers.size === 0 && this.#waits.size === 0)
  }

  /** Until the second time, or from the first on until somebody wakes it. */
  async #pause(fromAt: number, toAt: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      let timer = setTimeout(end, Math.max(0, toAt - performance.now()))
      this.#wake = () => {
        clearTimeout(timer)
        timer = setTimeout(end, Math.max(0, fromAt - performance.now()))
      }
    })
  }

  #tellStored(): void {
    const queues = this.#listener.take()
    if (queues.length === 0) return
    for (const viewer of [...this.#viewers.keys()]) {
      const visible = queues.filter((queue) => viewer.caller.can('view', { queue }))
      if (visible.length > 0 && viewer.topics.has('overview'))
        viewer.send(eventText('activity', { topic: 'overview', queues: visible }))
      for (const queue of visible)
        if (viewer.topics.has(`queue:${queue}`))
          viewer.send(eventText('activity', { topic: `queue:${queue}`, queues: [queue] }))
    }
  }

  #tellTrouble(detail: string): void {
    if (this.#trouble !== undefined) return
    this.#trouble = { detail, since: new Date().toISOString() }
    for (const viewer of [...this.#viewers.keys()]) viewer.send(eventText('trouble', this.#trouble))
  }

  #tellHealed(): void {
    this.#failures = 0
    if (this.#trouble === undefined) return
    this.#trouble = undefined
    for (const viewer of [...this.#viewers.keys()]) viewer.send(eventText('healed', {}))
  }

  #ping(): void {
    const now = performance.now()
    for (const [viewer, seen] of [...this.#viewers]) {
      viewer.send(eventText('ping', { at: new Date().toISOString() }))
      if (now - seen.checkedAt < this.#options.recheckMs) continue
      seen.checkedAt = now
      void this.#recheck(viewer, seen.recheck)
    }
  }

  async #recheck(viewer: Viewer, recheck: ViewRequest['recheck']): Promise<void> {
    // Whoever cannot be asked about is let be for now: it is the database that is away, and then there is nothing to see.
    const caller = await recheck().catch(() => viewer.caller)
    if (caller?.can('view') === true) viewer.caller = caller
    else viewer.close()
  }
}
