import { databaseOptions, helpOption, noMore, UsageError } from '../../arguments.ts'
import { outputOption } from '../../output/output.ts'

/** Options of nearly every schedule command. */
export const common = { ...outputOption, ...databaseOptions, ...helpOption } as const

export const reasonOption = { reason: { type: 'string' } } as const
export const reasonHelp = `  --reason TEXT         why, for the audit`

export function onlyName([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Missing argument: the name of the schedule.')
  noMore(more)
  return name
}
