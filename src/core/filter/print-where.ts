import { unitMs } from '../duration.ts'
import type { Where } from './where.ts'

/** The canonical text of a filter: parsing it gives the same filter again. */
export function printWhere(where: Where): string {
  const list = (
    name: string,
    values: readonly (string | number)[] | undefined,
    print: (value: string | number) => string = printValue,
  ): string[] =>
    values === undefined || values.length === 0 ? [] : [`${name}:${values.map(print).join(',')}`]
  return [
    ...list('id', [...(where.ids ?? []), ...(where.idEnds ?? [])]),
    ...list('state', where.states),
    ...list('queue', where.queues),
    ...list('kind', where.kinds),
    ...list('key', where.keys, printText),
    ...list('error', where.errors),
    ...list('worker', where.workers),
    ...list('correlation', where.correlations, printText),
    ...list('reason', where.reasons, printText),
    ...list('priority', where.priorities),
    ...list('flow', where.flows),
    ...list('waiting', where.waiting),
    ...(where.olderMs === undefined ? [] : [`age>${printDuration(where.olderMs)}`]),
    ...(where.youngerMs === undefined ? [] : [`age<${printDuration(where.youngerMs)}`]),
    ...Object.entries(where.search ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, values]) => list(`input.${name}`, values, printText)),
    ...list('is', [
      ...(where.isDiscarded === true ? ['discarded'] : []),
      ...(where.isReplaced === true ? ['replaced'] : []),
    ]),
  ].join(' ')
}

/** Whether the filter has no condition: an empty filter means every job. */
export function isEmptyWhere(where: Where): boolean {
  return printWhere(where) === ''
}

function printText(value: string | number): string {
  const text = printValue(value)
  return text.includes('*') && !text.startsWith('"') ? `"${text}"` : text
}

function printValue(value: string | number): string {
  const text = String(value)
  return /^[^\s,"]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** In the largest unit that divides it evenly. */
function printDuration(ms: number): string {
  const units = Object.entries(unitMs).reverse()
  const [unit, size] = units.find(([, one]) => ms >= one && ms % one === 0) ?? ['ms', 1]
  return `${ms / size}${unit}`
}
