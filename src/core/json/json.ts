import type { Issue } from '../errors.ts'

/** Any value that JSON can hold, and so any input of a job. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export interface JsonLimits {
  /** Nesting; deeper JSON is nearly always a mistake, and parsers of other languages give up on it. */
  maxDepth: number
  /** Characters seen before the walk gives up: a bound on work, the exact size is checked on the text. */
  maxCharacters: number
  maxIssues: number
}

export type JsonCopy =
  | { ok: true; value: Json }
  /** `characters`: how many were seen, if it is too large. */
  | { ok: false; issues: Issue[]; characters?: number | undefined }

/**
 * Copies a value into plain JSON, or says where and why it cannot.
 *
 * Each value that JSON.stringify would change in silence (NaN, undefined in a list, Map, functions) or fail on (bigint,
 * cycles), and each text that Postgres refuses (NUL, lone surrogates), is an issue with its path. Only two things are
 * treated as JSON.stringify treats them: a property that is undefined is left out, and an object with toJSON (a Date)
 * is replaced by what that returns. Every property is read once, so a getter or proxy cannot show one value here and
 * another later.
 */
export function copyJson(value: unknown, root: string, limits: JsonLimits): JsonCopy {
  const walk = new Walk(limits)
  let copy: Json | undefined
  try {
    copy = walk.copy(value, root)
  } catch (error) {
    // A getter, proxy trap or toJSON of the caller's threw.
    walk.refuse(root, `cannot be read: ${error instanceof Error ? error.message : 'it threw'}`)
  }
  if (walk.issues.length > 0 || copy === undefined)
    return { ok: false, issues: walk.issues, characters: walk.tooManyCharacters }
  return { ok: true, value: copy }
}

/** NUL and lone surrogates: no Postgres text can hold them. */
const unstorable = /[\0\p{Surrogate}]/u

export function isStorableText(text: string): boolean {
  return !unstorable.test(text)
}

class Walk {
  readonly issues: Issue[] = []
  readonly #ancestors: object[] = []
  readonly #limits: JsonLimits
  #characters = 0

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  /** How many there are at least, if they are too many. */
  get tooManyCharacters(): number | undefined {
    return this.#isTooLarge() ? this.#characters : undefined
  }

  /** Notes an issue and returns undefined, which the caller returns instead of a copy. */
  refuse(path: string, message: string): Json | undefined {
    if (this.issues.length < this.#limits.maxIssues) this.issues.push({ path, message })
    return undefined
  }

  copy(value: unknown, path: string): Json | undefined {
    if (this.issues.length >= this.#limits.maxIssues) return undefined
    switch (typeof value) {
      case 'string':
        return this.#text(value, path)
      case 'number':
        this.#count(8)
        return Number.isFinite(value) ? value : this.refuse(path, `is ${value}, which JSON cannot hold`)
      case 'boolean':
        this.#count(4)
        return value
      case 'object':
        return value === null ? null : this.#object(value, path)
      case 'bigint':
        return this.refuse(path, `is a bigint (${shorten(value.toString())}n): pass it as a string`)
      case 'undefined':
        return this.refuse(path, 'is undefined: leave it out or use null')
      case 'function':
      case 'symbol':
        return this.refuse(path, `is a ${typeof value}, which JSON cannot hold`)
    }
  }

  #text(text: string, path: string): Json | undefined {
    this.#count(text.length + 2)
    if (this.#isTooLarge()) return this.refuse(path, 'makes the whole too large')
    if (isStorableText(text)) return text
    return this.refuse(path, 'has a NUL character or half of a surrogate pair, which Postgres cannot store')
  }

  #object(value: object, path: string): Json | undefined {
    if (this.#isTooLarge()) return this.refuse(path, 'makes the whole too large')
    if (this.#ancestors.includes(value)) return this.refuse(path, 'refers back to something that contains it')
    if (this.#ancestors.length >= this.#limits.maxDepth) {
      return this.refuse(path, `is nested deeper than ${this.#limits.maxDepth} levels`)
    }
    this.#ancestors.push(value)
    this.#count(2)
    const copy = this.#container(value, path)
    this.#ancestors.pop()
    return copy
  }

  #container(value: object, path: string): Json | undefined {
    if (Array.isArray(value)) return this.#list(value, path)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      return this.refuse(
        path,
        'is binary: pass it as a base64 string, or store it elsewhere and pass a reference',
      )
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      return this.copy((value.toJSON as () => unknown)(), path)
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype && !isForeignPlain(prototype)) {
      return this.refuse(path, `is a ${className(value)}, which JSON would empty: pass a plain object`)
    }
    return this.#record(value, path)
  }

  #list(value: readonly unknown[], path: string): Json[] {
    const copy: Json[] = []
    for (let index = 0; index < value.length && this.issues.length < this.#limits.maxIssues; index++) {
      const item = this.copy(value[index], `${path}[${index}]`)
      if (item !== undefined) copy.push(item)
      if (this.#isTooLarge()) {
        this.refuse(path, 'makes the whole too large')
        break
      }
    }
    return copy
  }

  #record(value: object, path: string): Json {
    const copy: Record<string, Json> = {}
    for (const name of Object.keys(value)) {
      const item = (value as Record<string, unknown>)[name]
      if (item === undefined) continue
      const where = isPlainName(name) ? `${path}.${name}` : `${path}[${JSON.stringify(shorten(name))}]`
      this.#count(name.length + 4)
      if (!isStorableText(name)) this.refuse(where, 'has a name that Postgres cannot store')
      const itemCopy = this.copy(item, where)
      if (itemCopy === undefined) continue
      // Defined, not assigned: a key named __proto__ stays data.
      if (name === '__proto__') {
        Object.defineProperty(copy, name, {
          value: itemCopy,
          enumerable: true,
          writable: true,
          configurable: true,
        })
      } else copy[name] = itemCopy
    }
    return copy
  }

  #count(characters: number): void {
    this.#characters += characters
  }

  #isTooLarge(): boolean {
    return this.#characters > this.#limits.maxCharacters
  }
}

/** Whether `a.name` is valid JavaScript for it; for a path in an error. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

/** The Object.prototype of another realm (a vm context, a jest environment) is as plain as ours. */
function isForeignPlain(prototype: unknown): boolean {
  return (
    typeof prototype === 'object' &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'hasOwnProperty')
  )
}

function className(value: object): string {
  return shorten(
    Object.prototype.toString.call(value).slice(8, -1) === 'Object'
      ? constructorName(value)
      : Object.prototype.toString.call(value).slice(8, -1),
  )
}

function constructorName(value: object): string {
  const { constructor } = value
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'class instance'
}

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`
}
