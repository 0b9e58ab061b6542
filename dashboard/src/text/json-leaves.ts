/** A value inside a JSON document, with its JSON Pointer and its text. */
export interface Leaf {
  pointer: string
  /** A string without quotes; any other value as JSON. */
  text: string
  isString: boolean
}

/** All values that contain no others, in document order. An empty object or list is such a value. */
export function leavesOf(value: unknown, pointer = ''): Leaf[] {
  if (isBranch(value)) {
    const entries = Object.entries(value)
    if (entries.length > 0)
      return entries.flatMap(([name, each]) => leavesOf(each, `${pointer}/${escape(name)}`))
  }
  return [
    {
      pointer,
      text: typeof value === 'string' ? value : JSON.stringify(value),
      isString: typeof value === 'string',
    },
  ]
}

/** The document with one value replaced. If the old value was no string, the text is parsed as JSON; invalid JSON becomes a string. */
export function withLeaf(value: unknown, pointer: string, text: string, wasString: boolean): unknown {
  const next = wasString ? text : jsonOr(text)
  if (pointer === '') return next
  const [name, ...rest] = namesOf(pointer)
  return placed(value, name ?? '', rest, next)
}

export function namesOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function placed(value: unknown, name: string, rest: readonly string[], next: unknown): unknown {
  const [following, ...others] = rest
  const inner = (before: unknown): unknown =>
    following === undefined ? next : placed(before, following, others, next)
  if (Array.isArray(value))
    return value.map((each: unknown, index) => (String(index) === name ? inner(each) : each))
  const object = isBranch(value) ? value : {}
  return { ...object, [name]: inner((object as Record<string, unknown>)[name]) }
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
