import { databaseOptions, helpOption, noMore, UsageError } from '../../arguments.ts'
import { outputOption } from '../../output/output.ts'

/** Options of every queue command. */
export const options = {
  ...outputOption,
  ...databaseOptions,
  ...helpOption,
} as const

export function nameOf([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Missing argument: the name of the queue.')
  noMore(more)
  return name
}
