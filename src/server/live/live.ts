import { randomUUID } from 'node:crypto'
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

/*
 * Live updates: streams of server-sent events.
 *
 * A console has one Live, and a Live has one loop. Every half second the loop reads all topics that have viewers: all jobs
 * in one statement, all operations in one, the queues and the workers once for all viewers. So a hundred viewers cost the
 * database as much as one. The loop starts with the first viewer and stops with the last: without viewers the console
 * reads nothing. Besides the loop there is at most one LISTEN, which reports queues with new jobs. It only makes
 * the screens faster: without it they show the same.
 *
 * A viewer is an open stream. A topic is what it shows: `overview`, `workers`, `queue:q`, `job:id`, `operation:id`. The
 * loop keeps the last state of each topic. A viewer gets the state (`snapshot`), then the changes (`delta`). A delta is
 * the difference of two states, not an event of the database, so a tick that is late or fails loses no change: the next
 * tick includes it.
 *
 * Deltas are numbered, with one sequence for all topics, and stay in a ring buffer for a while. A viewer that reconnects
 * sends the last number it saw (Last-Event-ID) and gets each later delta once. This needs three things: the number is from
 * this process and for the same topics (the event id contains both), the ring still has all later deltas, and the state of
 * each topic was kept since. The state of a topic without viewers is kept for a minute and not read; a viewer that
 * reconnects within that minute gets the difference. Otherwise the viewer gets `reset` and new snapshots. Until a viewer
 * has a snapshot of all its topics, its events have no id: it could not continue from there.
 *
 * Before each event the viewer's caller is checked for permission; every minute the caller itself is identified again. A
 * caller who sees only some queues gets the overview of these queues, and the workers that serve them, as a snapshot each
 * time: it cannot share deltas with others. The permission for an operation is checked when the stream is opened
 * (routes/events.ts).
 *
 * A viewer that reads too slowly is disconnected when a megabyte waits for it, and reconnects by itself. When the database
 * does not answer, all viewers get `trouble`, and `healed` when it answers again; the next deltas bring them up to date.
 *
 * This file has the loop and the viewers. live/poll.ts reads the topics, live/board.ts keeps and sends their states,
 * and live/queue-listener.ts has the LISTEN.
 */

export interface LiveOptions {
  source: LiveSource
  /** How often to read the topics. @default 500 */
  tickMs?: number
  /** How often to send a `ping` on each stream. @default 15,000 */
  pingMs?: number
  /** How often to check whether the caller of a stream may still view it. @default 60,000 */
  recheckMs?: number
  /** How long the state of a topic without viewers is kept. @default 60,000 */
  lingerMs?: number
  /** Deltas that are kept for viewers that reconnect. @default 2,000 */
  ring?: number
  /** Bytes that may wait for a slow reader. @default 1,000,000 */
  mostBytes?: number
  /** Streams of one actor at most. @default 20 */
  mostPerActor?: number
  /** Streams in all at most. @default 500 */
  mostViewers?: number
  /** Called with the error when a read fails, once until a read succeeds again. @default does nothing */
  onTrouble?: (error: unknown) => void
}

export interface ViewRequest {
  caller: Caller
  topics: readonly Topic[]
  lastEventId?: string | undefined
  /** Aborted when the client disconnects. Needed because a stream that was never read is never cancelled. */
  signal?: AbortSignal | undefined
  /** Identifies the caller again; undefined if its credentials are no longer valid. */
  recheck: () => Promise<Caller | undefined>
}

/** If a read takes longer, the viewers get `trouble` before it ends. */
const patienceMs = 3_000
const longestPauseMs = 5_000
/** The shortest time between two reads, even if many viewers join at once. */
const shortestPauseMs = 100

export class Live {
  readonly #options: Required<Omit<LiveOptions, 'source'>>
  readonly #epoch = randomUUID().slice(0, 8)
  readonly #viewers = new Map<Viewer, { recheck: ViewRequest['recheck']; checkedAt: number }>()
  readonly #board: Board
  readonly #poll: Poll
  readonly #listener: QueueListener
  #looking: Promise<void> | undefined
  #wake: (() => void) | undefined
  #trouble: LiveTrouble | undefined
  #failures = 0
  #beat: NodeJS.Timeout | undefined
  #isClosed = false
  /** Streams closed because their reader was too slow, since the start. */
  dropped = 0
  /** Reads of the topics since the start. */
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
    this.#poll = new Poll({ source, board: this.#board })
    this.#listener = new QueueListener(source)
  }

  /** Number of open streams. */
  get viewers(): number {
    return this.#viewers.size
  }

  /** Whether the loop runs. */
  get isLooking(): boolean {
    return this.#looking !== undefined
  }

  /** Whether the LISTEN has its connection. */
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

  /** Opens a stream of the changes of some topics. */
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
    // Sent at once, so that the client knows that the stream is open.
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

  /** Ends all streams. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const viewer of [...this.#viewers.keys()]) viewer.close()
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
    this.#listener.begin()
    this.#beat ??= setInterval(() => {
      this.#ping()
    }, this.#options.pingMs).unref()
    if (this.#looking === undefined)
      this.#looking = this.#loop().finally(() => {
        this.#looking = undefined
        // A viewer may have joined while the loop was ending.
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
        // Viewers get a fixed text: the error may quote a statement, an address or a value.
        this.#tellTrouble('The console cannot reach its database, or the database rejected a statement')
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

  /** No viewer is left. A method, so that it is evaluated again after `await`. */
  #isOver(): boolean {
    return this.#isClosed || this.#viewers.size === 0
  }

  /** Waits until `toAt`. `#wake` ends it earlier, but not before `fromAt`. */
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
    // A check that fails keeps the viewer: the database is unavailable, so there is nothing new to see either.
    const caller = await recheck().catch(() => viewer.caller)
    if (caller?.can('view') === true) viewer.caller = caller
    else viewer.close()
  }
}
