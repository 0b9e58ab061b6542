import { createHash, randomUUID } from 'node:crypto'
import type { JobState } from '../core/job.ts'
import type { Caller, Resource } from './context.ts'
import { afterSilence } from './live/after-silence.ts'
import { deltaOf } from './live/delta.ts'
import type { State } from './live/delta.ts'
import { Ring } from './live/ring.ts'
import { topicOf } from './live/topic.ts'
import type { Topic } from './live/topic.ts'
import { eventText, Viewer } from './live/viewer.ts'

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
 */

/** What is looked at, as the API answers it. */
export interface LiveSource {
  overview(): Promise<LiveOverview>
  workers(): Promise<LiveView<NonNullable<State>>>
  jobs(ids: readonly string[]): Promise<readonly JobBrief[]>
  operations(ids: readonly string[]): Promise<readonly { id: string }[]>
  /** Hears of queues in which something is stored, until the returned function is called. */
  listen(onStored: (queues: readonly string[]) => void): Promise<() => Promise<void>>
}

/** What not everybody sees the same of. */
export interface LiveView<Whole> {
  /** For those who may see everything that it is about. */
  all: Whole
  about: readonly Resource[]
  /** For those who may not. */
  for(caller: Caller): NonNullable<State>
}

export type LiveOverview = LiveView<
  { readonly queues: readonly { readonly queue: string }[] } & Readonly<Record<string, unknown>>
>

interface JobBrief {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
}

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

interface Watched {
  topic: Topic
  viewers: Set<Viewer>
  /** Undefined until it was looked at for the first time. */
  state: State | undefined
  /** What one has to be allowed to see to see it. */
  about: readonly Resource[]
  /** Read since somebody looks at it: what is remembered of before may not be so any more. */
  isFresh: boolean
  /** The first number after which it is known. */
  sinceSeq: number
  leftAt: number
}

interface Wait {
  id: string
  ended: (state: JobState | undefined) => void
}

const mostRingBytes = 8_000_000
/** Each holds a request: half of those that the console answers at once (console.ts), so that it answers others too. */
const mostWaits = 128
const mostIds = 1_000
/** Gauges are refreshed every two seconds. */
const queuesEveryMs = 1_000
const workersEveryMs = 2_000
/** An answer that takes longer than this is told as trouble, whether it comes or not. */
const patienceMs = 3_000
const longestPauseMs = 5_000
/** However many come at once, the loop is not woken more often. */
const shortestPauseMs = 100

export class Live {
  readonly #source: LiveSource
  readonly #options: Required<Omit<LiveOptions, 'source'>>
  readonly #epoch = randomUUID().slice(0, 8)
  readonly #ring: Ring
  readonly #watched = new Map<string, Watched>()
  readonly #viewers = new Map<Viewer, { recheck: ViewRequest['recheck']; checkedAt: number }>()
  readonly #waits = new Set<Wait>()
  readonly #stored = new Set<string>()
  readonly #readAt = { queues: -Infinity, workers: -Infinity }
  /** Of the topics that not everybody sees the same of. */
  readonly #views = new Map<Topic['type'], Pick<LiveView<unknown>, 'for'>>()
  #looking: Promise<void> | undefined
  #wake: (() => void) | undefined
  #trouble: { detail: string; since: string } | undefined
  #failures = 0
  #beat: NodeJS.Timeout | undefined
  #listening: Promise<() => Promise<void>> | undefined
  #ending: Promise<void> | undefined
  #isClosed = false
  /** Readers that were cut off, since it was made. */
  dropped = 0
  /** Times that it has looked. */
  ticks = 0

  constructor({ source, ...options }: LiveOptions) {
    this.#source = source
    this.#options = {
      ...{ tickMs: 500, pingMs: 15_000, recheckMs: 60_000, lingerMs: 60_000, ring: 2_000 },
      ...{ mostBytes: 1_000_000, mostPerActor: 20, mostViewers: 500, onTrouble: () => undefined },
      ...options,
    }
    this.#ring = new Ring({ most: this.#options.ring, mostBytes: mostRingBytes })
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
    return this.#listening !== undefined
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
    this.#forgetOld()
    const epoch = `${this.#epoch}${digestOf(topics)}`
    const viewer: Viewer = new Viewer({
      ...{ caller, topics, epoch, mostBytes: this.#options.mostBytes },
      onGone: (isSlow) => {
        if (isSlow) this.dropped++
        this.#leave(viewer)
      },
    })
    // At once, so that whoever opened it knows that it is open.
    viewer.send(': stint\n')
    const missed = lastEventId === undefined ? undefined : this.#missed(viewer, lastEventId, epoch)
    if (lastEventId !== undefined && missed === undefined) viewer.send('id:\nevent: reset\ndata: {}\n')
    this.#viewers.set(viewer, { recheck, checkedAt: performance.now() })
    for (const topic of viewer.topics.values()) this.#watch(topic, viewer)
    if (missed === undefined) for (const topic of viewer.topics.keys()) this.#show(topic, viewer)
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
    return !this.#isClosed && this.#waits.size < mostWaits
  }

  /** How a job ended, within `ms`; undefined where it has not, or is not there. One loop serves all who wait. */
  jobEnded(id: string, ms: number): Promise<JobState | undefined> {
    if (!this.hasRoomToWait) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        wait.ended(undefined)
      }, ms)
      const wait: Wait = {
        id: id.toLowerCase(),
        ended: (state) => {
          clearTimeout(timer)
          this.#waits.delete(wait)
          resolve(state)
        },
      }
      this.#waits.add(wait)
      this.#start()
    })
  }

  /** Ends all streams and waits. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const viewer of [...this.#viewers.keys()]) viewer.close()
    for (const wait of [...this.#waits]) wait.ended(undefined)
    this.#wake?.()
    await this.#looking
    await this.#ending
  }

  /** What it has not seen; undefined where that cannot be said. */
  #missed(viewer: Viewer, lastEventId: string, epoch: string): { text: string; seq: number }[] | undefined {
    const [, said, number] = /^([0-9a-f]+)-(\d{1,15})$/.exec(lastEventId) ?? []
    if (said !== epoch) return undefined
    const seq = Number(number)
    const after = this.#ring.after(seq)
    const isKnown = [...viewer.topics.values()].every((topic) => {
      const watched = this.#watched.get(topic.name)
      return watched?.state !== undefined && watched.sinceSeq <= seq && maySee(viewer, watched.about)
    })
    const own = after?.filter(({ topic }) => viewer.topics.has(topic))
    return isKnown && own?.every(({ about }) => maySee(viewer, about)) === true ? own : undefined
  }

  #watch(topic: Topic, viewer: Viewer): void {
    let watched = this.#watched.get(topic.name)
    if (watched === undefined) {
      watched = {
        ...{ topic, viewers: new Set<Viewer>(), state: undefined, about: [] },
        ...{ isFresh: false, sinceSeq: Infinity, leftAt: 0 },
      }
      this.#watched.set(topic.name, watched)
    }
    if (watched.viewers.size === 0) this.#readSoon(topic)
    watched.viewers.add(viewer)
  }

  #readSoon({ type }: Topic): void {
    if (type === 'overview' || type === 'queue') this.#readAt.queues = -Infinity
    if (type === 'workers') this.#readAt.workers = -Infinity
    this.#wake?.()
  }

  #leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return
    for (const name of viewer.topics.keys()) {
      const watched = this.#watched.get(name)
      watched?.viewers.delete(viewer)
      if (watched?.viewers.size !== 0) continue
      watched.isFresh = false
      watched.leftAt = performance.now()
    }
    if (this.#isOver()) this.#wake?.()
  }

  #forgetOld(): void {
    const before = performance.now() - this.#options.lingerMs
    for (const [name, { viewers, leftAt }] of this.#watched)
      if (viewers.size === 0 && leftAt < before) this.#watched.delete(name)
  }

  #start(): void {
    if (this.#viewers.size > 0) this.#listening ??= this.#listen()
    this.#beat ??= setInterval(() => {
      this.#ping()
    }, this.#options.pingMs).unref()
    if (this.#looking === undefined)
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined
        // Somebody may have come at the very end.
        if (!this.#isOver()) this.#start()
      })
    else this.#wake?.()
  }

  /** Never fails: nothing hangs on it. */
  #listen(): Promise<() => Promise<void>> {
    const onStored = (queues: readonly string[]): void => {
      for (const queue of queues) if (this.#stored.size < mostIds) this.#stored.add(queue)
    }
    return this.#source.listen(onStored).catch(() => () => Promise.resolve())
  }

  async #look(): Promise<void> {
    while (!this.#isOver()) {
      const begunAt = performance.now()
      const endPatience = afterSilence(patienceMs, () => {
        this.#tellTrouble(`The database has not answered for ${patienceMs / 1_000} s`)
      })
      try {
        await this.#tick()
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
    this.#readAt.queues = this.#readAt.workers = -Infinity
    this.#stored.clear()
    this.#ending = this.#stopListening()
  }

  /** Nobody looks any more. A method, for it changes while it is waited for. */
  #isOver(): boolean {
    return this.#isClosed || (this.#viewers.size === 0 && this.#waits.size === 0)
  }

  async #stopListening(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    const stop = await listening
    await stop?.()
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

  async #tick(): Promise<void> {
    this.ticks++
    await this.#lookAtJobs()
    await this.#lookAtOperations()
    const now = performance.now()
    const queues = this.#seen('queue')
    const overview = this.#watched.get('overview')
    if ((queues.length > 0 || isSeen(overview)) && now - this.#readAt.queues >= queuesEveryMs) {
      const view = await this.#source.overview()
      this.#views.set('overview', view)
      this.#readAt.queues = now
      const { all } = view
      if (isSeen(overview)) this.#found(overview, all, view.about)
      const byName = new Map(all.queues.map((queue) => [queue.queue, queue as NonNullable<State>]))
      for (const watched of queues) {
        const queue = ofTopic(watched)
        this.#found(watched, byName.get(queue) ?? null, [{ queue }])
      }
    }
    const workers = this.#watched.get('workers')
    if (isSeen(workers) && now - this.#readAt.workers >= workersEveryMs) {
      const view = await this.#source.workers()
      this.#views.set('workers', view)
      this.#readAt.workers = now
      this.#found(workers, view.all, view.about)
    }
    this.#tellStored()
  }

  async #lookAtJobs(): Promise<void> {
    const watched = this.#seen('job')
    const waits = [...this.#waits]
    // What has succeeded or was cancelled stays so.
    const open = watched.filter((one) => !isOver(one))
    const ids = [...new Set([...open.map(ofTopic), ...waits.map(({ id }) => id)])]
    const jobs = new Map<string, JobBrief>()
    for (let at = 0; at < ids.length; at += mostIds)
      for (const job of await this.#source.jobs(ids.slice(at, at + mostIds))) jobs.set(job.id, job)
    for (const one of open) {
      const job = jobs.get(ofTopic(one))
      const about = job === undefined ? [] : [{ queue: job.queue, kind: job.kind, key: job.key }]
      this.#found(one, (job ?? null) as State, about)
    }
    for (const wait of waits) {
      const job = jobs.get(wait.id)
      if (job === undefined) wait.ended(undefined)
      else if (endings.has(job.state)) wait.ended(job.state)
    }
  }

  async #lookAtOperations(): Promise<void> {
    const watched = this.#seen('operation')
    if (watched.length === 0) return
    const ids = watched.slice(0, mostIds).map(ofTopic)
    const found = new Map((await this.#source.operations(ids)).map((one) => [one.id, one as State]))
    for (const one of watched) this.#found(one, found.get(ofTopic(one)) ?? null, [])
  }

  /** The topics of a type that somebody looks at. */
  #seen(type: Topic['type']): Watched[] {
    return [...this.#watched.values()].filter((one) => one.topic.type === type && one.viewers.size > 0)
  }

  /** Keeps what was found, and tells those who look what is new about it. */
  #found(watched: Watched, now: State, about: readonly Resource[]): void {
    const { topic, state: before } = watched
    // What is told of is what was and what is.
    const both = together(watched.about, about)
    watched.about = both.length === about.length ? both : about
    // As it is sent: times are texts.
    const state = JSON.parse(JSON.stringify(now)) as State
    watched.state = state
    watched.isFresh = watched.viewers.size > 0
    if (before === undefined) {
      watched.sinceSeq = this.#ring.seq
      for (const viewer of [...watched.viewers]) this.#show(topic.name, viewer)
      return
    }
    const delta = deltaOf(topic, before, state)
    if (delta !== undefined) {
      const text =
        delta === 'anew'
          ? eventText('snapshot', { topic: topic.name, data: state })
          : eventText('delta', delta)
      const said = this.#ring.add({ topic: topic.name, text, about: both })
      for (const viewer of [...watched.viewers]) {
        if (viewer.unseen.has(topic.name)) continue
        if (maySee(viewer, both)) viewer.send(said.text, said.seq)
        else this.#showOwn(topic, viewer)
      }
    }
    for (const viewer of [...watched.viewers])
      if (viewer.unseen.has(topic.name)) this.#show(topic.name, viewer)
  }

  /** Shows a topic to a viewer who has not seen it, where it is known. */
  #show(name: string, viewer: Viewer): void {
    const watched = this.#watched.get(name)
    if (watched?.state === undefined || !watched.isFresh) return
    viewer.unseen.delete(name)
    if (!maySee(viewer, watched.about)) this.#showOwn(watched.topic, viewer)
    else viewer.send(eventText('snapshot', { topic: name, data: watched.state }), this.#ring.seq)
  }

  /** For those who may not see all of it: of the overview and the workers what they may, of the rest nothing. */
  #showOwn(topic: Topic, viewer: Viewer): void {
    const data = this.#views.get(topic.type)?.for(viewer.caller) ?? null
    viewer.send(eventText('snapshot', { topic: topic.name, data }), this.#ring.seq)
  }

  #tellStored(): void {
    if (this.#stored.size === 0) return
    const queues = [...this.#stored]
    this.#stored.clear()
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

const endings: ReadonlySet<string> = new Set<JobState>(['succeeded', 'cancelled', 'dead'])

function isSeen(watched: Watched | undefined): watched is Watched {
  return watched !== undefined && watched.viewers.size > 0
}

function isOver({ state, isFresh }: Watched): boolean {
  return isFresh && (state?.['state'] === 'succeeded' || state?.['state'] === 'cancelled')
}

function ofTopic({ topic }: Watched): string {
  return 'of' in topic ? topic.of : topic.name
}

function maySee({ caller }: Viewer, about: readonly Resource[]): boolean {
  return about.every((resource) => caller.can('view', resource))
}

/** The first list itself where the second adds nothing: what is told is remembered, and most of it is about the same. */
function together(before: readonly Resource[], now: readonly Resource[]): readonly Resource[] {
  const known = new Set(before.map((resource) => JSON.stringify(resource)))
  const added = now.filter((resource) => !known.has(JSON.stringify(resource)))
  return added.length === 0 ? before : [...before, ...added]
}

/** The same topics have the same digest, in whatever order. */
function digestOf(topics: readonly Topic[]): string {
  const names = topics.map(({ name }) => name).sort()
  return createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 8)
}

/** The topics in a request; the first that is none is given as it was said. */
export function topicsIn(text: string): { topics: Topic[]; unknown: string | undefined } {
  const topics: Topic[] = []
  for (const name of new Set(text.split(','))) {
    const topic = topicOf(name.trim())
    if (topic === undefined) return { topics, unknown: name }
    topics.push(topic)
  }
  return { topics, unknown: undefined }
}
