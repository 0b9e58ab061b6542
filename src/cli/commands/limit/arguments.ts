import { databaseOptions, helpOption, noMore, UsageError } from '../../arguments.ts'
import { outputOption } from '../../output/output.ts'

/** Options of every limit command. */
export const common = { ...outputOption, ...databaseOptions, ...helpOption } as const

export const changeOptions = {
  reason: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  ...common,
} as const
export const changeHelp = `  --reason TEXT         why; shown with it, and in the audit
  --dry-run             say what would be done, and do nothing`

export const endOptions = { for: { type: 'string' }, until: { type: 'string' } } as const

export function onlyName([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Missing argument: the name of the limit.')
  noMore(more)
  return name
}

export function nameAndKey([name, key, ...more]: readonly string[]): [name: string, key: string] {
  if (name === undefined || key === undefined)
    throw new UsageError('Missing argument: the name of the limit and the key.')
  noMore(more)
  return [name, key]
}

/** `max 5 for 1h`, of the options that are given. */
export function wanted(options: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(options)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(' ')
}
