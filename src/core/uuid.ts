const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export interface UuidSource {
  timeMs: number
  /** 0 to 4095: the order within one millisecond. */
  sequence: number
  /** At least 8 bytes from `offset` on. */
  random: Uint8Array
  offset: number
}

/** RFC 9562 version 7: milliseconds, then a counter, so ids sort by time and order of making; the rest is random. */
export function uuidV7({ timeMs, sequence, random, offset }: UuidSource): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const at = (index: number): string => hex[random[offset + index] ?? 0] ?? '00'
  const counter = (0x7000 | sequence).toString(16)
  const variant = `${hex[0x80 | ((random[offset] ?? 0) & 0x3f)] ?? '80'}${at(1)}`
  return `${time.slice(0, 8)}-${time.slice(8)}-${counter}-${variant}-${at(2)}${at(3)}${at(4)}${at(5)}${at(6)}${at(7)}`
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value)
}
