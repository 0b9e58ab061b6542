import { durationMs } from './duration.ts'
import { StintError } from './errors.ts'

/** Throws for names that are left over once the known options are taken out, and suggests the nearest known one. */
export function rejectUnknown(what: string, rest: object, known: readonly string[], prefix = ''): void {
  const [unknown] = Object.keys(rest).filter((name) => (rest as Record<string, unknown>)[name] !== undefined)
  if (unknown === undefined) return
  const near = nearest(unknown, known)
  const wayOut = near === undefined ? `Known: ${known.join(', ')}.` : `Did you mean \`${near}\`?`
  throw new StintError('invalid-option', `Unknown option \`${unknown}\` of ${what}. ${wayOut}`, {
    issues: [{ path: `${prefix}${unknown}`, message: `is not an option of ${what}` }],
  })
}

export type Given<Options> = { [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** Options without those that are undefined, so that spreading them over others overrides only what is given. */
export function given<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Given<Options>
}

export interface IntegerRange {
  min: number
  max?: number
}

export function integerOption(
  name: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: IntegerRange,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`
  throw invalidOption(name, `an integer ${range}`, value)
}

export function booleanOption(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalidOption(name, 'true or false', value)
}

export interface DurationRange {
  minMs?: number
  maxMs?: number
}

/** Ten years: a longer duration is a mistake in units. */
export const longestMs = 10 * 365.25 * 86_400_000

export function durationOption(
  name: string,
  value: unknown,
  { minMs = 0, maxMs = longestMs }: DurationRange = {},
): number {
  const ms = durationMs(value)
  if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms
  const least = minMs > 0 ? ` from ${minMs} ms up` : ''
  throw invalidOption(name, `a duration such as '30s' or '5m'${least}, at most 10 years`, value)
}

export function oneOfOption<const Choice extends string>(
  name: string,
  value: unknown,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw invalidOption(name, choices.map((choice) => `'${choice}'`).join(' or '), value)
}

export function functionOption<Function>(name: string, value: Function): Function {
  if (typeof value === 'function') return value
  throw invalidOption(name, 'a function', value)
}

/** "Expected `lease` to be a duration from '5s' up, got '3s'." */
export function invalidOption(name: string, expected: string, received: unknown): StintError {
  return new StintError('invalid-option', `Expected \`${name}\` to be ${expected}, got ${show(received)}.`, {
    issues: [{ path: name, message: `is not ${expected}` }],
  })
}

/** A received value for an error message: recognisable and short. Never throws, for any value. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${shorten(value)}'`
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) {
    try {
      return value instanceof Date ? `Date(${value.getTime()})` : shorten(JSON.stringify(value))
    } catch {
      return 'an object'
    }
  }
  return String(value)
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`
}

/** The known name at the smallest edit distance, if that is small enough to be a typo. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const most = Math.max(2, Math.floor(name.length / 3))
  const ranked = known
    // A name that differs more in length cannot be near. This also keeps a name of a megabyte from being compared.
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= most ? best.candidate : undefined
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(change, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
