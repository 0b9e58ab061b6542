/**
 * JSON whose numbers stay as they were printed: an id of 19 digits is not rounded on its way through the page.
 *
 * Where the browser tells a number's source (`JSON.rawJSON` came with it), one that a double cannot hold is kept as
 * raw JSON, which prints as it was read. Older browsers round, as they always did.
 */
interface Source {
  source?: string
}
const native = JSON as typeof JSON & {
  rawJSON?: (text: string) => unknown
  isRawJSON?: (value: unknown) => boolean
}

export function parseExact(text: string): unknown {
  const raw = native.rawJSON
  if (raw === undefined) return JSON.parse(text)
  return JSON.parse(text, (_name: string, value: unknown, context?: Source) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isExact(value, context.source) ? value : raw(context.source)
  })
}

export function isRaw(value: unknown): value is { rawJSON: string } {
  return native.isRawJSON?.(value) ?? false
}

/** A double that prints otherwise may still be the same number: 1.50, 1e3. */
function isExact(value: number, source: string): boolean {
  return String(value) === source || Number.isSafeInteger(value) || !/^-?\d{16,}$|\d\.\d{15,}/.test(source)
}
