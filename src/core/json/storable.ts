import { isStorableText } from './json.ts'
import { isError, peek } from '../failures/thrown.ts'
import { byteLength, prefixWithin, utf8Cost } from './utf8.ts'

export interface StorableLimits {
  /** The limit of the text, in UTF-8. Below 64 there is no room for the note about the cut. */
  maxBytes: number
  /** @default 100 */
  maxDepth?: number | undefined
}

export interface Storable {
  /** JSON that jsonb takes: no NUL, no lone surrogates, not too large, not too deep. */
  text: string
  /** What was changed to be stored, in a few words each; at most 10. */
  changed: readonly string[]
}

/**
 * JSON text for any value from a handler: a result, a note, log data, a thrown value. Never throws.
 *
 * An input that cannot be stored unchanged is refused (json.ts), because its caller can repair it. A handler's value is
 * changed to fit instead: the work is done, and its settle must not fail because of the value.
 *
 * A value that JSON.stringify keeps is written as JSON.stringify writes it. We walk the value ourselves, in one pass:
 * JSON.stringify loses a Map or NaN in silence, and a check before it would read a getter or proxy twice.
 */
export function toStorable(value: unknown, { maxBytes, maxDepth = 100 }: StorableLimits): Storable {
  if (value === undefined) return { text: 'null', changed: unchanged }
  const writer = new Writer(maxDepth, Math.max(leastWork, 16 * maxBytes))
  const text = writer.write(value, '') ?? 'null'
  if (!writer.isExhausted) {
    if (text.length * 3 <= maxBytes) return { text, changed: writer.changed }
    const bytes = byteLength(text)
    if (bytes <= maxBytes) return { text, changed: writer.changed }
    writer.note(`${bytes} bytes were cut to ${maxBytes}`)
    return { text: cutJson(text, maxBytes, `"bytes":${bytes},`), changed: writer.changed }
  }
  writer.note(`far more than ${maxBytes} bytes were cut`)
  return { text: cutJson(text, maxBytes, ''), changed: writer.changed }
}

/** As `cleanText`, with the list of changes. */
export function toStorableText(given: string, maxBytes: number): Storable {
  const text = cleanText(given, maxBytes)
  if (text === given) return { text, changed: unchanged }
  // Replaced characters keep the length.
  const isCut = text.length < given.length
  const isReplaced = !given.startsWith(isCut ? text.slice(0, -1) : text)
  return {
    text,
    changed: [...(isReplaced ? [replaced] : []), ...(isCut ? [`cut to ${maxBytes} bytes`] : [])],
  }
}

/** Text that Postgres can hold: NUL and lone surrogates become U+FFFD, and what is too long ends in '…'. */
export function cleanText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return replaceUnstorable(text)
  // Each UTF-16 unit is at least one byte, so the text beyond `maxBytes` units is cut in any case: do not read it.
  const clean = replaceUnstorable(text.slice(0, maxBytes + 1))
  if (text.length <= maxBytes + 1 && byteLength(clean) <= maxBytes) return clean
  return maxBytes < ellipsisBytes ? '' : `${prefixWithin(clean, maxBytes - ellipsisBytes)}…`
}

/** The change reported for an Error. A constant, because some callers ignore it: name and message identify an error. */
export const errorShortened = 'an Error became its name and message'

const unchanged: readonly string[] = Object.freeze([])
const replaced = 'NUL or half a surrogate pair was replaced'
const mostReasons = 10
const ellipsisBytes = 3

/**
 * Characters written and members seen before the walk gives up. More than fits, so that the size of a value that is
 * somewhat too large can be reported; bounded, because shared references can unfold to more than any memory holds.
 */
const leastWork = 262_144

function replaceUnstorable(text: string): string {
  return isStorableText(text) ? text : text.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
}

/** What is stored instead of JSON that is too large: a marker, and the beginning of the text. */
function cutJson(text: string, maxBytes: number, size: string): string {
  const head = `{"stint:cut":true,${size}"start":"`
  const room = maxBytes - head.length - ellipsisBytes - '"}'.length
  if (room < 0) return maxBytes >= bareCut.length ? bareCut : 'null'
  return `${head}${JSON.stringify(prefixWithin(text, room, quotedCost)).slice(1, -1)}…"}`
}

const bareCut = '{"stint:cut":true}'

/** In JSON text within JSON text: only quotes and backslashes are left to escape. */
function quotedCost(codePoint: number): number {
  return codePoint === 0x22 || codePoint === 0x5c ? 2 : utf8Cost(codePoint)
}

class Writer {
  readonly #ancestors: object[] = []
  readonly #maxDepth: number
  #left: number
  #changed: Set<string> | undefined

  constructor(maxDepth: number, work: number) {
    this.#maxDepth = maxDepth
    this.#left = work
  }

  get isExhausted(): boolean {
    return this.#left < 0
  }

  get changed(): readonly string[] {
    return this.#changed === undefined ? unchanged : [...this.#changed]
  }

  note(reason: string): void {
    this.#changed ??= new Set()
    if (this.#changed.size < mostReasons) this.#changed.add(reason)
  }

  /** The text of a value, or undefined for what JSON leaves out. */
  write(value: unknown, name: string | number): string | undefined {
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        this.#left -= 8
        return Number.isFinite(value) ? String(value) : this.#instead(String(value), `${value} became text`)
      case 'boolean':
        this.#left -= 4
        return value ? 'true' : 'false'
      case 'object':
        return value === null ? 'null' : this.#object(value, name)
      case 'bigint':
        return this.#instead(String(value), 'a bigint became text')
      case 'undefined':
        return undefined
      case 'function':
      case 'symbol':
        this.note(`a ${typeof value} was left out`)
        return undefined
    }
  }

  #text(text: string): string {
    if (text.length > this.#left) {
      const start = prefixWithin(text, this.#left)
      this.#left = -1
      return JSON.stringify(replaceUnstorable(start))
    }
    this.#left -= text.length + 2
    const quoted = JSON.stringify(text)
    // JSON.stringify escapes what Postgres cannot hold, and an escape makes it longer.
    if (quoted.length === text.length + 2 || isStorableText(text)) return quoted
    this.note(replaced)
    return JSON.stringify(replaceUnstorable(text))
  }

  #instead(text: string, reason: string): string {
    this.note(reason)
    return this.#text(text)
  }

  #object(value: object, name: string | number): string | undefined {
    if (this.isExhausted) return 'null'
    const depth = this.#ancestors.length
    if (depth >= this.#maxDepth) return this.#instead('[too deep]', `deeper than ${this.#maxDepth} levels`)
    this.#left -= 2
    try {
      return this.#container(value, name)
    } catch {
      // A proxy, or a Map with an iterator of its own.
      return this.#instead('[unreadable]', 'a value could not be read')
    } finally {
      this.#ancestors.length = depth
    }
  }

  #container(value: object, name: string | number): string | undefined {
    const shown = usesToJson(value) ? this.#asJson(value, name) : value
    if (typeof shown !== 'object' || shown === null) return this.write(shown, name)
    if (this.#ancestors.includes(shown)) return this.#instead('[circular]', 'a cycle was cut')
    this.#ancestors.push(shown)
    if (Array.isArray(shown)) return this.#list(shown)
    return Object.getPrototypeOf(shown) === Object.prototype ? this.#record(shown) : this.#instance(shown)
  }

  #asJson(value: { toJSON: unknown }, name: string | number): unknown {
    try {
      return Reflect.apply(value.toJSON as () => unknown, value, [String(name)])
    } catch {
      this.note('toJSON() threw')
      return value
    }
  }

  #instance(value: object): string | undefined {
    if (isBinary(value)) return this.#instead(`<${value.byteLength} bytes>`, 'binary data became its size')
    if (isError(value)) {
      this.note(errorShortened)
      return this.#record({ name: peek(value, 'name'), message: peek(value, 'message') })
    }
    if (value instanceof Map) {
      this.note('a Map became its entries')
      return this.#map(value)
    }
    if (value instanceof Set) {
      this.note('a Set became a list')
      return this.#list(this.#taken(value))
    }
    const isBoxed = value instanceof String || value instanceof Number || value instanceof Boolean
    return isBoxed ? this.write(value.valueOf(), '') : this.#record(value)
  }

  #list(list: readonly unknown[]): string {
    let text = '['
    for (let index = 0; index < list.length && !this.isExhausted; index++) {
      this.#left -= 2
      if (index > 0) text += ','
      text += this.#member(list, index) ?? 'null'
    }
    return `${text}]`
  }

  #record(value: object): string {
    let text = ''
    for (const name of Object.keys(value)) {
      if (this.isExhausted) break
      text += this.#pair(text, name, this.#member(value, name))
    }
    return `{${text}}`
  }

  /** An object where all keys are text, otherwise a list of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>): string {
    const entries = this.#taken(map)
    if (!entries.every(([key]) => typeof key === 'string')) return this.#list(entries)
    let text = ''
    for (const [key, value] of entries as [string, unknown][]) {
      if (this.isExhausted) break
      text += this.#pair(text, key, this.write(value, key))
    }
    return `{${text}}`
  }

  /** No more items than can be written, at two characters each: a user's iterator may never end. */
  #taken<Item>(items: Iterable<Item>): Item[] {
    const taken: Item[] = []
    for (const item of items) if (taken.push(item) * 2 > this.#left) break
    return taken
  }

  #pair(before: string, name: string, member: string | undefined): string {
    this.#left -= 2
    if (member === undefined) return ''
    return `${before === '' ? '' : ','}${this.#text(name)}:${member}`
  }

  #member(owner: object, name: string | number): string | undefined {
    let value: unknown
    try {
      value = (owner as Record<string | number, unknown>)[name]
    } catch {
      return this.#instead('[unreadable]', 'a value could not be read')
    }
    return this.write(value, name)
  }
}

/**
 * Whether its toJSON is used. Not for bytes and errors, though some have one: it returns a list of each byte, or a
 * whole request with its secrets.
 */
function usesToJson(value: object): value is { toJSON: unknown } {
  return typeof peek(value, 'toJSON') === 'function' && !isBinary(value) && !isError(value)
}

function isBinary(value: object): value is { byteLength: number } {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer
}
