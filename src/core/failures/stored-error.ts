import type { FailureClass } from './failure.ts'
import { fingerprint, framesStart } from './fingerprint.ts'
import type { Json } from '../json/json.ts'
import { cleanText, toStorable } from '../json/storable.ts'
import { isError, peek, withCauses } from './thrown.ts'

export interface StoredCause {
  name: string
  message: string
  code?: string
}

/** A failure as it is kept with its job: bounded, and nothing in it that Postgres would refuse. */
export interface StoredError extends StoredCause {
  class: FailureClass
  stack?: string
  /** Nearest first, at most 10; those of an AggregateError too. */
  causes: StoredCause[]
  /** The thrown value, if it is no Error. */
  thrown?: Json
  /** The same for what people would call the same error. */
  fingerprint: string
  /**
   * The stored error differs from the thrown one: it was too long, or had a value that JSON or Postgres cannot hold.
   */
  cut?: true
}

const maxMessageBytes = 8 * 1024
const maxStackBytes = 32 * 1024
const maxCauseBytes = 2 * 1024
const maxNameBytes = 256
const mostCauses = 10

/** The stored form of a thrown value. Never throws, for any value. */
export function describeFailure(
  thrown: unknown,
  { kind, failureClass }: { kind: string; failureClass: FailureClass },
): StoredError {
  const texts = new Texts()
  const [, ...behind] = withCauses(thrown, mostCauses + 1)
  const cause = describe(thrown, maxMessageBytes, texts)
  const stack = peek(thrown, 'stack')
  const stored = typeof stack === 'string' ? texts.stack(stack, messageOf(thrown)) : undefined
  const causes = behind.map((each) => describe(each, maxCauseBytes, texts))
  const value = isError(thrown) ? undefined : texts.value(thrown)
  return {
    class: failureClass,
    ...cause,
    ...(stored === undefined ? {} : { stack: stored }),
    causes,
    ...(value === undefined ? {} : { thrown: value }),
    fingerprint: fingerprint({ kind, failureClass, ...cause, stack: stored }),
    ...(texts.areCut ? { cut: true } : {}),
  }
}

function describe(value: unknown, maxBytes: number, texts: Texts): StoredCause {
  const code = peek(value, 'code')
  return {
    name: texts.take(nameOf(value), maxNameBytes),
    message: texts.take(messageOf(value), maxBytes),
    ...(typeof code === 'string' || typeof code === 'number'
      ? { code: texts.take(String(code), maxNameBytes) }
      : {}),
  }
}

/** An error class that does not set `name` still has the name of its constructor. */
function nameOf(value: unknown): string {
  const name = peek(value, 'name')
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name
  const constructor = peek(peek(value, 'constructor'), 'name')
  // A bundler adds `$1` where two classes have one name: that would be another error group.
  if (typeof constructor === 'string' && constructor !== '') return constructor.replace(/\$\d+$/, '')
  if (typeof name === 'string' && name !== '') return name
  return value === null ? 'null' : typeof value
}

function messageOf(value: unknown): string {
  const message = typeof value === 'string' ? value : peek(value, 'message')
  if (typeof message === 'string') return message
  if (isError(value)) return ''
  const shown = toStorable(telling(value), { maxBytes: maxCauseBytes }).text
  return `${value === undefined ? 'undefined' : shown} was thrown`
}

/** A Response of fetch() and similar objects have only getters of their class: their JSON would be {}. */
function telling(value: unknown): unknown {
  const [status, statusText, url] = ['status', 'statusText', 'url'].map((name) => peek(value, name))
  if (typeof status !== 'number' || isError(value) || hasOwn(value)) return value
  return {
    status,
    ...(typeof statusText === 'string' && statusText !== '' ? { statusText } : {}),
    // Without the query, which may contain a secret.
    ...(typeof url === 'string' && url !== '' ? { url: url.replace(/[?#].*$/s, '') } : {}),
  }
}

function hasOwn(value: unknown): boolean {
  try {
    return Object.keys(value as object).length > 0
  } catch {
    return true
  }
}

/** Converts texts and values to storable ones, and remembers whether any of them was changed. */
class Texts {
  areCut = false

  take(text: string, maxBytes: number): string {
    const clean = cleanText(text, maxBytes)
    if (clean !== text) this.areCut = true
    return clean
  }

  /** The thrown value, if it is no Error. */
  value(thrown: unknown): Json {
    const { text, changed } = toStorable(telling(thrown), { maxBytes: maxMessageBytes })
    if (changed.length > 0) this.areCut = true
    return JSON.parse(text) as Json
  }

  /** Keeps the frames, which come after a message that may be megabytes long. */
  stack(stack: string, message: string): string {
    const start = stack.length > maxStackBytes ? framesStart(stack, message) : -1
    if (start <= maxMessageBytes) return this.take(stack, maxStackBytes)
    this.areCut = true
    return this.take(cleanText(stack.slice(0, start), maxMessageBytes) + stack.slice(start), maxStackBytes)
  }
}
