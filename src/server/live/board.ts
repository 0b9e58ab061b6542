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

export interface BoardOptions {
  /** Deltas that are remembered. */
  ring: number
  /** How long a topic is remembered that nobody looks at. */
  lingerMs: number
}

const mostRingBytes = 8_000_000

/** What is known of each topic, and who looks at it: what is found is kept here, and told to them. */
export class Board {
  readonly #watched = new Map<string, Watched>()
  /** Of the topics that not everybody sees the same of. */
  readonly #views = new Map<Topic['type'], Pick<LiveView<unknown>, 'for'>>()
  readonly #ring: Ring
  readonly #lingerMs: number

  constructor({ ring, lingerMs }: BoardOptions) {
    this.#ring = new Ring({ most: ring, mostBytes: mostRingBytes })
    this.#lingerMs = lingerMs
  }

  /** Somebody looks at a topic from now on. True where nobody else does: what is known of it may be old. */
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

  /** What it has not seen; undefined where that cannot be said. */
  missed(viewer: Viewer, lastEventId: string, epoch: string): { text: string; seq: number }[] | undefined {
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

  /** The topics of a type that somebody looks at. */
  seen(type: Topic['type']): Watched[] {
    return [...this.#watched.values()].filter((one) => one.topic.type === type && one.viewers.size > 0)
  }

  /** How those see the overview, or the workers, who may not see all of it. */
  setView(type: 'overview' | 'workers', view: Pick<LiveView<unknown>, 'for'>): void {
    this.#views.set(type, view)
  }

  /** Keeps what was found, and tells those who look what is new about it. */
  found(watched: Watched, now: State, about: readonly Resource[]): void {
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
      for (const viewer of [...watched.viewers]) this.show(topic.name, viewer)
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
      if (viewer.unseen.has(topic.name)) this.show(topic.name, viewer)
  }

  /** Shows a topic to a viewer who has not seen it, where it is known. */
  show(name: string, viewer: Viewer): void {
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
