import type { Json } from './json.ts'

/**
 * JSON as PostgreSQL prints jsonb: its order of names, its spaces, numbers written in full. Equal values have the same
 * text, so a digest of the text identifies the value, and SQL computes the same digest of a jsonb column.
 */
export function jsonbText(value: Json): string {
  if (typeof value === 'number') return numericText(value)
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.keys(value)
    .map((name) => ({ name, bytes: encoder.encode(name) }))
    .sort((a, b) => compareNames(a.bytes, b.bytes))
  return `{${members.map(({ name }) => `${JSON.stringify(name)}: ${jsonbText(value[name] ?? null)}`).join(', ')}}`
}

const encoder = new TextEncoder()

/** Shorter names first, then by bytes. */
function compareNames(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return a.length - b.length
  const at = a.findIndex((byte, index) => byte !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** 1e21 and 1.5e-7 written out. */
function numericText(value: number): string {
  const [mantissa = '', exponent] = JSON.stringify(value).split('e')
  if (exponent === undefined) return mantissa
  const sign = mantissa.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}
