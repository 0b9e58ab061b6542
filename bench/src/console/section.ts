import type { Machine } from '../surroundings.ts'
import { markdownTable } from '../table.ts'
import type { Condition, Took } from './measure.ts'

export interface Report extends Machine {
  size: string
  conditions: readonly Condition[]
}

/** Its section of docs/benchmarks.md: one row for each request, with its times in each condition. */
export function sectionOf({ date, commit, machine, loadAtStart, size, conditions }: Report): string {
  const requests = conditions[0]?.took ?? []
  const times = conditions.flatMap(({ name }) => [`${name.toLowerCase()}: first`, 'again', 'worst'])
  return [
    `Measured on ${date} at commit ${commit}. ${machine}; load before the start ${loadAtStart.toFixed(2)}.`,
    'The server and the console share this machine.',
    '',
    `The database has ${size}, 20 workers that run 4,000 of them, 20 queues with`,
    'figures by the minute for a week, 100 schedules, 2,000 operations and 200,000 audit entries. Times are milliseconds',
    'from the request to the last byte of its answer. *First* is the median of five new consoles with empty caches;',
    '*again* is the same request to each of them a second later; *worst* is the slowest of all ten. An answer may take',
    '300 ms; a preview, which counts the jobs that an action would touch, two seconds.',
    '',
    markdownTable(
      ['request', ...times, ''],
      requests.map(({ name }) => {
        const took = conditions.flatMap((condition) => condition.took.filter((one) => one.name === name))
        return [name, ...took.flatMap(timesOf), took.some(isTooSlow) ? 'too slow' : '']
      }),
    ),
    '',
    '50 requests at once beside a stream; connections as the server counts them:',
    '',
    ...conditions.map(
      ({ name, crowd }) =>
        `- ${name}: at most ${crowd.connections} connections; ${crowd.answered} answered, the last after ` +
        `${crowd.worst.toFixed(0)} ms, ${crowd.refused} refused.`,
    ),
    '',
  ].join('\n')
}

export function cellsOf(took: Took): string[] {
  return [took.name, ...timesOf(took), isTooSlow(took) ? 'too slow' : '']
}

function timesOf({ first, again, worst }: Took): string[] {
  return [first, again, worst].map((ms) => ms.toFixed(0))
}

export function isTooSlow({ worst, mayTakeMs }: Took): boolean {
  return worst > mayTakeMs
}
