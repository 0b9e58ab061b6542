import type { Resource } from '../auth/caller.ts'

/** An event as it was sent. */
export interface SentEvent {
  seq: number
  topic: string
  /** The event without its id. */
  text: string
  /** The resources that a caller must be allowed to view to get it. */
  about: readonly Resource[]
}

/** The last events, limited by number and size, for viewers that reconnect. */
export class Ring {
  readonly #most: number
  readonly #mostBytes: number
  readonly #events: SentEvent[] = []
  #bytes = 0
  #seq = 0

  constructor({ most, mostBytes }: { most: number; mostBytes: number }) {
    this.#most = most
    this.#mostBytes = mostBytes
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq
  }

  add(given: Omit<SentEvent, 'seq'>): SentEvent {
    const event = { ...given, seq: ++this.#seq }
    this.#events.push(event)
    this.#bytes += event.text.length
    while (this.#events.length > this.#most || (this.#bytes > this.#mostBytes && this.#events.length > 0))
      this.#bytes -= this.#events.shift()?.text.length ?? 0
    return event
  }

  /** All events after `seq`; undefined if some of them are no longer kept. */
  after(seq: number): readonly SentEvent[] | undefined {
    if (seq > this.#seq) return undefined
    const oldest = this.#events[0]?.seq ?? this.#seq + 1
    return seq < oldest - 1 ? undefined : this.#events.filter((event) => event.seq > seq)
  }
}
