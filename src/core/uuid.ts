const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** The first part of a UUIDv7, the same for a whole millisecond: `01a1e0fa-732f`. */
export function uuidTime(timeMs: number): string {
  const text = timeMs.toString(16).padStart(12, '0')
  return `${text.slice(0, 8)}-${text.slice(8)}`
}

/**
 * RFC 9562 version 7: milliseconds, then a counter from 0 to 4095, so ids sort by time and order of making; the rest
 * is 8 random bytes, taken from `offset` on.
 */
export function uuidV7(time: string, sequence: number, random: Uint8Array, offset: number): string {
  const at = (index: number): string => hex[random[offset + index] ?? 0] ?? '00'
  const variant = hex[0x80 | ((random[offset] ?? 0) & 0x3f)] ?? '80'
  const counter = (0x7000 | sequence).toString(16)
  return `${time}-${counter}-${variant}${at(1)}-${at(2)}${at(3)}${at(4)}${at(5)}${at(6)}${at(7)}`
}

export const firstUuid = '00000000-0000-0000-0000-000000000000'
export const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The UUID just before another; undefined for the first of all. */
export function uuidBefore(id: string): string | undefined {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  if (number === 0n) return undefined
  const text = (number - 1n).toString(16).padStart(32, '0')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}

/** The highest UUID of a page that continues below another one, or starts at the top; undefined where none is below. */
export function pageStart(before: string | null | undefined): string | undefined {
  return before === null || before === undefined ? lastUuid : uuidBefore(before)
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value)
}
