import type { Resource } from '../auth/caller.ts'

/** Something that was said, as it was sent. */
export interface Said {
  seq: number
  topic: string
  /** The event without its id. */
  text: string
  /** What one has to be allowed to see to hear it. */
  about: readonly Resource[]
}

/** The last things that were said, up to a number and a size: for those whose connection broke. */
export class Ring {
  readonly #most: number
  readonly #mostBytes: number
  readonly #said: Said[] = []
  #bytes = 0
  #seq = 0

  constructor({ most, mostBytes }: { most: number; mostBytes: number }) {
    this.#most = most
    this.#mostBytes = mostBytes
  }

  /** Of the last one. */
  get seq(): number {
    return this.#seq
  }

  add(what: Omit<Said, 'seq'>): Said {
    const said = { ...what, seq: ++this.#seq }
    this.#said.push(said)
    this.#bytes += said.text.length
    while (this.#said.length > this.#most || (this.#bytes > this.#mostBytes && this.#said.length > 0))
      this.#bytes -= this.#said.shift()?.text.length ?? 0
    return said
  }

  /** All that came after `seq`; undefined where some of it is forgotten. */
  after(seq: number): readonly Said[] | undefined {
    if (seq > this.#seq) return undefined
    const oldest = this.#said[0]?.seq ?? this.#seq + 1
    return seq < oldest - 1 ? undefined : this.#said.filter((said) => said.seq > seq)
  }
}
