import { databaseOptions, helpOption, noMore, UsageError } from '../../arguments.ts'
import { outputOption } from '../../output/output.ts'

/** What nearly every command of schedules takes. */
export const common = { ...outputOption, ...databaseOptions, ...helpOption } as const

export const reasonOption = { reason: { type: 'string' } } as const
export const reasonHelp = `  --reason TEXT         why, for the audit`

export function onlyName([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Say which schedule, by its name.')
  noMore(more)
  return name
}
