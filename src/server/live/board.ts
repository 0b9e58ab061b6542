import type { Resource } from '../auth/caller.ts'
import { deltaOf } from './delta.ts'
import type { State } from './delta.ts'
import { Ring } from './ring.ts'
import type { LiveView } from './source.ts'
import type { Topic } from './topic.ts'
import { eventText } from './viewer.ts'
import type { Viewer } from './viewer.ts'

export interface Watched {
  topic: Topic
  viewers: Set<Viewer>
  /** The last state; undefined until the topic is read for the first time. */
  state: State | undefined
  /** The resources that a caller must be allowed to view to see this topic. */
  about: readonly Resource[]
  /** The state was read while the topic has viewers. A state from before may be out of date. */
  isFresh: boolean
  /** The number from which on all deltas of this topic are known. */
  sinceSeq: number
  /** When its last viewer left. */
  leftAt: number
}

export interface BoardOptions {
  /** Deltas that are kept for viewers that reconnect. */
  ring: number
  /** How long the state of a topic without viewers is kept. */
  lingerMs: number
}

const mostRingBytes = 8_000_000

/** Keeps the last state and the viewers of each topic, and sends changes to the viewers. */
export class Board {
  readonly #watched = new Map<string, Watched>()
  /** For topics of which a narrowed caller sees only a part. */
  readonly #views = new Map<Topic['type'], Pick<LiveView<unknown>, 'for'>>()
  readonly #ring: Ring
  readonly #lingerMs: number

  constructor({ ring, lingerMs }: BoardOptions) {
    this.#ring = new Ring({ most: ring, mostBytes: mostRingBytes })
    this.#lingerMs = lingerMs
  }

  /** Adds a viewer to a topic. True for the first viewer: then the known state may be old. */
  join(topic: Topic, viewer: Viewer): boolean {
    let watched = this.#watched.get(topic.name)
    if (watched === undefined) {
      watched = {
        topic,
        viewers: new Set<Viewer>(),
        state: undefined,
        about: [],
        isFresh: false,
        sinceSeq: Infinity,
        leftAt: 0,
      }
      this.#watched.set(topic.name, watched)
    }
    const isFirst = watched.viewers.size === 0
    watched.viewers.add(viewer)
    return isFirst
  }

  leave(viewer: Viewer): void {
    for (const name of viewer.topics.keys()) {
      const watched = this.#watched.get(name)
      watched?.viewers.delete(viewer)
      if (watched?.viewers.size !== 0) continue
      watched.isFresh = false
      watched.leftAt = performance.now()
    }
  }

  forgetOld(): void {
    const before = performance.now() - this.#lingerMs
    for (const [name, { viewers, leftAt }] of this.#watched)
      if (viewers.size === 0 && leftAt < before) this.#watched.delete(name)
  }

  /** The deltas after the last event that the viewer saw; undefined if some of them are not known any more. */
  missed(viewer: Viewer, lastEventId: string, epoch: string): { text: string; seq: number }[] | undefined {
    const [, itsEpoch, number] = /^([0-9a-f]+)-(\d{1,15})$/.exec(lastEventId) ?? []
    if (itsEpoch !== epoch) return undefined
    const seq = Number(number)
    const after = this.#ring.after(seq)
    const isKnown = [...viewer.topics.values()].every((topic) => {
      const watched = this.#watched.get(topic.name)
      return watched?.state !== undefined && watched.sinceSeq <= seq && maySee(viewer, watched.about)
    })
    const own = after?.filter(({ topic }) => viewer.topics.has(topic))
    return isKnown && own?.every(({ about }) => maySee(viewer, about)) === true ? own : undefined
  }

  /** The topics of a type that have viewers. */
  seen(type: Topic['type']): Watched[] {
    return [...this.#watched.values()].filter((one) => one.topic.type === type && one.viewers.size > 0)
  }

  /** Sets the view of the overview, or of the workers, for callers that may not see all of it. */
  setView(type: 'overview' | 'workers', view: Pick<LiveView<unknown>, 'for'>): void {
    this.#views.set(type, view)
  }

  /** Stores the new state of a topic and sends the difference to its viewers. */
  found(watched: Watched, now: State, about: readonly Resource[]): void {
    const { topic, state: before } = watched
    // The delta covers both the old and the new resources.
    const both = together(watched.about, about)
    watched.about = both.length === about.length ? both : about
    // In the form in which it is sent: dates become strings.
    const state = JSON.parse(JSON.stringify(now)) as State
    watched.state = state
    watched.isFresh = watched.viewers.size > 0
    if (before === undefined) {
      watched.sinceSeq = this.#ring.seq
      for (const viewer of [...watched.viewers]) this.show(topic.name, viewer)
      return
    }
    const delta = deltaOf(topic, before, state)
    if (delta !== undefined) {
      const text =
        delta === 'replaced'
          ? eventText('snapshot', { topic: topic.name, data: state })
          : eventText('delta', delta)
      const event = this.#ring.add({ topic: topic.name, text, about: both })
      for (const viewer of [...watched.viewers]) {
        if (viewer.unseen.has(topic.name)) continue
        if (maySee(viewer, both)) viewer.send(event.text, event.seq)
        else this.#showOwn(topic, viewer)
      }
    }
    for (const viewer of [...watched.viewers])
      if (viewer.unseen.has(topic.name)) this.show(topic.name, viewer)
  }

  /** Sends the state of a topic to a viewer that has not seen it, if the state is known and fresh. */
  show(name: string, viewer: Viewer): void {
    const watched = this.#watched.get(name)
    if (watched?.state === undefined || !watched.isFresh) return
    viewer.unseen.delete(name)
    if (!maySee(viewer, watched.about)) this.#showOwn(watched.topic, viewer)
    else viewer.send(eventText('snapshot', { topic: name, data: watched.state }), this.#ring.seq)
  }

  /** For a viewer that may not see the whole topic: its part of the overview or the workers, else null. */
  #showOwn(topic: Topic, viewer: Viewer): void {
    const data = this.#views.get(topic.type)?.for(viewer.caller) ?? null
    viewer.send(eventText('snapshot', { topic: topic.name, data }), this.#ring.seq)
  }
}

function maySee({ caller }: Viewer, about: readonly Resource[]): boolean {
  return about.every((resource) => caller.can('view', resource))
}

/** The union of both lists. It returns the first list itself if the second adds nothing: the ring keeps many deltas, and most share one list. */
function together(before: readonly Resource[], now: readonly Resource[]): readonly Resource[] {
  const known = new Set(before.map((resource) => JSON.stringify(resource)))
  const added = now.filter((resource) => !known.has(JSON.stringify(resource)))
  return added.length === 0 ? before : [...before, ...added]
}
