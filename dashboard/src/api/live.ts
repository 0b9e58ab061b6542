/**
 * Keeps the screen up to date: one EventSource for the whole page, and the state of its connection.
 *
 * A screen follows its topics while it is mounted and gets their messages (use-live.ts). If streaming does not work, the
 * page polls and shows that it does. Paused means that the page fetches nothing: no stream, no polling, no refetch on
 * focus.
 */
import type { LiveDelta, LiveSnapshot, LiveTrouble } from '../../../src/server/api/events.ts'
import { apiUrl } from './client.ts'

export type Mode = 'connecting' | 'live' | 'polling' | 'paused'

export interface LiveState {
  mode: Mode
  /** When data last arrived, by performance.now(). */
  heardAt: number
  /** The database does not answer the console. */
  trouble: LiveTrouble | undefined
}

/** A message about a topic; `news` has no data: the screen has to fetch. */
export type Message =
  ({ type: 'snapshot' } & LiveSnapshot) | ({ type: 'delta' } & LiveDelta) | { type: 'news'; topic: string }

const retryMs = 5_000
const pingMs = 45_000

class Live {
  #state: LiveState = { mode: 'connecting', heardAt: performance.now(), trouble: undefined }
  #listeners = new Set<() => void>()
  #topics = new Map<string, Set<(message: Message) => void>>()
  #source: EventSource | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #isPlanned = false

  get state(): LiveState {
    return this.#state
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls `heard` for each message of the topic, until the returned function is called. */
  follow(topic: string, heard: (message: Message) => void): () => void {
    const isNew = !this.#topics.has(topic)
    const callbacks = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, callbacks.add(heard))
    if (isNew) this.#plan()
    return () => {
      callbacks.delete(heard)
      if (callbacks.size > 0) return
      this.#topics.delete(topic)
      this.#plan()
    }
  }

  /** Notes that data arrived by other means than the stream. */
  heard(): void {
    this.#state = { ...this.#state, heardAt: performance.now() }
  }

  pause(): void {
    this.#close()
    this.#become('paused')
  }

  resume(): void {
    if (this.#state.mode !== 'paused') return
    this.#become('connecting')
    this.#plan()
    for (const topic of this.#topics.keys()) this.#tell({ type: 'news', topic })
  }

  /** Opens the stream for the current topics. Deferred, because many topics change together when a screen changes. */
  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setTimeout(() => {
      this.#isPlanned = false
      if (this.#state.mode !== 'paused') this.#open()
    }, 50)
  }

  #open(): void {
    this.#close()
    if (this.#topics.size === 0) {
      this.#become('polling')
      return
    }
    const source = new EventSource(apiUrl('events', { topics: [...this.#topics.keys()].sort().join(',') }))
    this.#source = source
    source.addEventListener('open', () => {
      this.#become('live')
      this.#wait()
    })
    source.addEventListener('error', () => {
      this.#become('polling')
      // The browser reconnects by itself, unless the server refused the stream.
      if (source.readyState === EventSource.CLOSED) this.#later()
    })
    for (const type of ['snapshot', 'delta', 'activity', 'reset', 'trouble', 'healed', 'ping'] as const) {
      source.addEventListener(type, (event) => {
        this.#hear(type, JSON.parse((event as MessageEvent<string>).data))
      })
    }
  }

  #hear(
    type: 'snapshot' | 'delta' | 'activity' | 'reset' | 'trouble' | 'healed' | 'ping',
    data: unknown,
  ): void {
    this.#wait()
    if (type === 'trouble') {
      this.#change({ trouble: data as LiveTrouble })
      return
    }
    const isOver = type === 'healed' || type === 'snapshot' || type === 'delta'
    const trouble = isOver ? undefined : this.#state.trouble
    // While the database does not answer, the data on the screen is not updated.
    this.#change({ mode: 'live', trouble, ...(trouble === undefined && { heardAt: performance.now() }) })
    switch (type) {
      case 'ping':
        return
      case 'reset':
      case 'healed':
        for (const topic of this.#topics.keys()) this.#tell({ type: 'news', topic })
        return
      case 'activity':
        this.#tell({ type: 'news', topic: (data as { topic: string }).topic })
        return
      case 'snapshot':
        this.#tell({ type, ...(data as LiveSnapshot) })
        return
      case 'delta':
        this.#tell({ type, ...(data as LiveDelta) })
    }
  }

  #tell(message: Message): void {
    for (const heard of this.#topics.get(message.topic) ?? []) heard(message)
  }

  /** A stream without even a ping does not work: a proxy probably buffers it. */
  #wait(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => {
      this.#become('polling')
      this.#later()
    }, pingMs)
  }

  #later(): void {
    this.#close()
    this.#retry = setTimeout(() => {
      this.#open()
    }, retryMs)
  }

  #close(): void {
    clearTimeout(this.#retry)
    clearTimeout(this.#silence)
    this.#source?.close()
    this.#source = undefined
  }

  #become(mode: Mode): void {
    if (this.#state.mode !== mode) this.#change({ mode })
  }

  #change(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

export const live = new Live()
