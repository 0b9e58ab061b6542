/**
 * Looking at what somebody else threw or returned. It may be a proxy, have getters that throw, or refer to itself:
 * nothing here throws, whatever it is given.
 */

/** A property, or undefined where there is none or reading it throws. */
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

/** What it says, for a sentence: without a full stop of its own. */
export function messageOf(thrown: unknown): string {
  const said = isError(thrown) ? peek(thrown, 'message') : thrown
  try {
    return withoutStop(String(said))
  } catch {
    return 'something that cannot be shown'
  }
}

/** For a text of somebody else's that a sentence of ours ends with. */
export function withoutStop(text: string): string {
  return text.replace(/(?<!\.)\.$/, '')
}

/** What was thrown and what lies behind it, nearest first, each once: causes, and the errors of an AggregateError. */
export function withCauses(thrown: unknown, most: number): unknown[] {
  const found = new Set([thrown])
  // A Set is walked in the order of adding, and shows what is added on the way.
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
