import type { Machine } from '../surroundings.ts'
import { markdownTable } from '../table.ts'
import type { Condition, Took } from './measure.ts'

export interface Report extends Machine {
  size: string
  conditions: readonly Condition[]
}

/** Its section of docs/benchmarks.md. */
export function sectionOf({ date, commit, machine, loadAtStart, size, conditions }: Report): string {
  return [
    `Measured on ${date} at commit ${commit}. ${machine}; load before the start ${loadAtStart.toFixed(2)}.`,
    'The server and the console share this machine.',
    '',
    `A database with ${size}, 20 workers that have 4,000 of them in hand, 20 queues with`,
    'the figures of a week by the minute, 100 schedules, 2,000 operations, 200,000 lines of audit. Milliseconds from the',
    'request to the last byte of its answer. *First*: the median of five consoles that have just been made, and remember',
    'nothing; *again*: the same from each of them a second later; *worst*: the slowest of all ten. An answer may take 300 ms;',
    'a preview, which counts what an act would touch, two seconds.',
    '',
    ...conditions.flatMap(({ name, took, crowd }) => [
      `### ${name}`,
      '',
      markdownTable(['request', 'first', 'again', 'worst', ''], took.map(cellsOf)),
      '',
      `50 requests at once beside a stream: ${crowd.connections} connections at most, as the server counts them;`,
      `${crowd.answered} answered, the last after ${crowd.worst.toFixed(0)} ms, ${crowd.refused} refused.`,
      '',
    ]),
  ].join('\n')
}

export function cellsOf(took: Took): string[] {
  const { name, first, again, worst } = took
  return [name, ...[first, again, worst].map((ms) => ms.toFixed(0)), isTooSlow(took) ? 'too slow' : '']
}

export function isTooSlow({ worst, mayTakeMs }: Took): boolean {
  return worst > mayTakeMs
}
