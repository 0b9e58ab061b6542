import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'

/** Called wrongly: exit code 2, with a pointer to the help. */
export class UsageError extends Error {}

/** Data for standard output; gives the exit code of success. */
export function say(text: string): 0 {
  console.log(text)
  return 0
}

/** Rows under their heads, each column as wide as its widest cell. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, ...rows]
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

type OptionsConfig = NonNullable<ParseArgsConfig['options']>
type Options<Config extends OptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Config; allowPositionals: true }>
>

/** The arguments of a command, or a usage error in the parser's words. */
export function parse<const Config extends OptionsConfig>(
  args: readonly string[],
  options: Config,
): Options<Config> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}
