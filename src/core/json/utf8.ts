const encoder = new TextEncoder()

/** Bytes of UTF-8. Most texts are short, and for those counting is cheaper than encoding. */
export function byteLength(text: string): number {
  if (text.length > 1_000) return encoder.encode(text).length
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    // Half of a surrogate pair is one of the two units that make four bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2
  }
  return bytes
}

/** The longest beginning that costs at most `maxBytes`; it ends between two characters. */
export function prefixWithin(
  text: string,
  maxBytes: number,
  costOf: (codePoint: number) => number = utf8Cost,
): string {
  let end = 0
  let bytes = 0
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0
    bytes += costOf(codePoint)
    if (bytes > maxBytes) break
    end += codePoint > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/**
 * The first `units` units of a text, without the first half of a pair at their end, which Postgres would refuse in
 * JSON.
 */
export function prefixOf(text: string, units: number): string {
  if (text.length <= units) return text
  const last = text.charCodeAt(units - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? units - 1 : units)
}

export function utf8Cost(codePoint: number): number {
  if (codePoint < 0x80) return 1
  if (codePoint < 0x800) return 2
  return codePoint > 0xffff ? 4 : 3
}
