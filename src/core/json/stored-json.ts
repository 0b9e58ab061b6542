import { peek } from '../failures/thrown.ts'

/** Reading JSON columns: a row may be of any version, or written by hand, so it can have any shape. */

/** The object, or an empty one for any other value. */
export function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

/** An object's members that are numbers. */
export function numbersIn(value: unknown): Record<string, number> {
  const entries = Object.entries(objectIn(value))
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])))
}

/** A member that is text; null if there is none. */
export function textIn(value: unknown, name: string): string | null {
  const text = peek(value, name)
  return typeof text === 'string' ? text : null
}

/** A member that is a number; null if there is none. */
export function numberIn(value: unknown, name: string): number | null {
  const number = peek(value, name)
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
