import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import { nearest } from '../core/options.ts'
import { messageOf } from '../core/failures/thrown.ts'

/** The command line is wrong: exit code 2, with a hint to the help. */
export class UsageError extends Error {}

/** The database options of every command that uses one. */
export const databaseOptions = {
  schema: { type: 'string' },
  'database-url': { type: 'string' },
} as const

export const helpOption = { help: { type: 'boolean', short: 'h', default: false } } as const

export const databaseHelp = `  --schema NAME         the Postgres schema (default: stint)
  --database-url URL    the database (default: DATABASE_URL)`

type OptionsConfig = NonNullable<ParseArgsConfig['options']>
type Options<Config extends OptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Config; allowPositionals: true }>
>

/** Parses the arguments of a command; a usage error names the most similar option that exists. */
export function parse<const Config extends OptionsConfig>(
  args: readonly string[],
  options: Config,
): Options<Config> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const message = messageOf(error)
    const [, unknown] = /^Unknown option '(-[^' ]*)'/.exec(message) ?? []
    if (unknown === undefined) throw new UsageError(message)
    const known = Object.keys(options).map((name) => `--${name}`)
    throw new UsageError(`Unknown option ${unknown}.${didYouMean(unknown, known)}`)
  }
}

/** Checks that a word is one of several; a usage error names the most similar one. */
export function choose<const Choice extends string>(
  what: string,
  word: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === word)
  if (found !== undefined) return found
  throw new UsageError(`Unknown ${what} '${word}'.${didYouMean(word, choices)}`)
}

/** Throws a usage error for an extra argument: it is probably a mistake. */
export function noMore(words: readonly string[]): void {
  const [first] = words
  if (first !== undefined) throw new UsageError(`Unexpected argument '${first}'.`)
}

export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`Expected ${option} to be a whole number, got '${text}'.`)
}

function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? ` Known: ${known.join(', ')}.` : ` Did you mean ${near}?`
}
