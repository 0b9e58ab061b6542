/**
 * What keeps the screen fresh: one EventSource for all that the page shows, and what is known of its health.
 *
 * A screen names its topics while it is mounted. A message about a topic says that something changed; whoever shows it
 * asks again (use-live.ts). Where streaming does not work the page polls, and says so. Paused means that nothing is
 * asked for at all: no stream, no poll, no refetch on focus.
 */
import { apiUrl } from './client.ts'

export type Mode = 'connecting' | 'live' | 'polling' | 'paused'

export interface LiveState {
  mode: Mode
  /** When data last came in, by performance.now(). */
  heardAt: number
}

const retryMs = 5_000
const pingMs = 45_000

class Live {
  #state: LiveState = { mode: 'connecting', heardAt: performance.now() }
  #listeners = new Set<() => void>()
  #topics = new Map<string, Set<() => void>>()
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

  /** Calls `heard` when something about the topic came in, until the returned function is called. */
  follow(topic: string, heard: () => void): () => void {
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

  /** Data came by another way than the stream. */
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
    for (const topic of this.#topics.keys()) this.#tell(topic)
  }

  /** Screens come and go together: one stream for where they end up. */
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
      // The browser connects again by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED) this.#later()
    })
    for (const type of ['message', 'snapshot', 'delta', 'change', 'reset', 'ping']) {
      source.addEventListener(type, (event) => {
        this.#message(type, event as MessageEvent<string>)
      })
    }
  }

  #message(type: string, event: MessageEvent<string>): void {
    this.#wait()
    this.#state = { mode: 'live', heardAt: performance.now() }
    for (const listener of this.#listeners) listener()
    if (type === 'ping') return
    const topic = topicOf(event.data)
    for (const name of topic === undefined || type === 'reset' ? this.#topics.keys() : [topic]) this.#tell(name)
  }

  #tell(topic: string): void {
    for (const heard of this.#topics.get(topic) ?? []) heard()
  }

  /** A stream that says nothing, not even a ping, is no stream: some proxy holds it. */
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
    if (this.#state.mode === mode) return
    this.#state = { ...this.#state, mode }
    for (const listener of this.#listeners) listener()
  }
}

function topicOf(data: string): string | undefined {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null && 'topic' in value && typeof value.topic === 'string') return value.topic
  } catch {
    return undefined
  }
  return undefined
}

export const live = new Live()
