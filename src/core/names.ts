import { isStorableText } from './json/json.ts'
import { invalidOption } from './options.ts'

/** Queues and kinds: letters, digits and `_ . : / % -`, from 1 to 128, not starting with a sign. */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,127}$/

export function isName(value: unknown): value is string {
  return typeof value === 'string' && namePattern.test(value)
}

export function nameOption(option: string, value: unknown): string {
  if (isName(value)) return value
  throw invalidOption(
    option,
    'a name of 1 to 128 letters, digits and _ . : / % - (first a letter, digit or _)',
    value,
  )
}

/** A schema is the one name of ours that enters SQL as an identifier. */
const schemaPattern = /^[a-z_][a-z0-9_]{0,53}$/

export function schemaOption(value: unknown): string {
  if (typeof value === 'string' && schemaPattern.test(value) && !value.startsWith('pg_')) return value
  throw invalidOption(
    'schema',
    'a name of 1 to 54 lower-case letters, digits and _, not starting with pg_',
    value,
  )
}

/** Text that becomes part of an index entry, which Postgres bounds. */
export function boundedText(value: unknown, maxBytes: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    (value.length * 3 <= maxBytes || new TextEncoder().encode(value).length <= maxBytes) &&
    isStorableText(value)
  )
}
