/**
 * Reading values that users' code threw or returned. Such a value may be a proxy, have getters that throw, or refer to
 * itself: no function here throws, for any value.
 */

/** A property, or undefined if there is none or reading it throws. */
export function peek(value: unknown, name: PropertyKey): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return Reflect.get(value, name)
  } catch {
    return undefined
  }
}

/** Known by its tag too: an error of another realm (a vm context, a jest environment) is no instance of our Error. */
export function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
  } catch {
    return false
  }
}

/** Its message, to put into a sentence: without a full stop at the end. */
export function messageOf(thrown: unknown): string {
  const said = isError(thrown) ? peek(thrown, 'message') : thrown
  try {
    return withoutStop(String(said))
  } catch {
    return 'something that cannot be shown'
  }
}

/** For a text of another author at the end of a sentence of ours. */
export function withoutStop(text: string): string {
  return text.replace(/(?<!\.)\.$/, '')
}

/** A thrown value and its causes, nearest first, each once; the errors of an AggregateError count as causes. */
export function withCauses(thrown: unknown, most: number): unknown[] {
  const found = new Set([thrown])
  // A Set iterates in insertion order, and also visits values added during the iteration.
  for (const value of found) {
    for (const cause of causesOf(value, most)) {
      if (found.size >= most) return [...found]
      found.add(cause)
    }
  }
  return [...found]
}

function causesOf(value: unknown, most: number): unknown[] {
  const cause = peek(value, 'cause')
  const errors = peek(value, 'errors')
  const causes = cause === undefined || cause === null ? [] : [cause]
  const count = peek(errors, 'length')
  // A list of something else under the same name (a validator's issues) is no list of causes.
  for (let index = 0; index < most && typeof count === 'number' && index < count; index++) {
    const error = peek(errors, index)
    if (isError(error)) causes.push(error)
  }
  return causes
}
