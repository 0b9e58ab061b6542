import type { Machine } from '../surroundings.ts'
import { markdownTable } from '../table.ts'
import type { Condition, Said } from './measure.ts'

export interface Report extends Machine {
  postgres: string
  ready: number
  conditions: readonly Condition[]
}

/** The limit of a refresh. */
export const mayTakeMs = 50

/** Its section of docs/benchmarks.md. */
export function sectionOf({
  date,
  commit,
  machine,
  loadAtStart,
  postgres,
  ready,
  conditions,
}: Report): string {
  return [
    `Measured on ${date} at commit ${commit}. ${machine}; load before the start ${loadAtStart.toFixed(2)}.`,
    `PostgreSQL ${postgres} and the measuring process share this machine.`,
    '',
    `The leader refreshes the gauges every two seconds; here on a table of ${whole(ready)} ready jobs, 30,000 scheduled,`,
    'retrying or waiting ones, and 30 small queues. Times are milliseconds from sending a statement to the last row of its',
    'answer, so never less than the time in the database. *First* is the first refresh of a new leader, which counts each',
    `group up to its cap. The median refresh may take ${mayTakeMs} ms. A figure counts only if every gauge that is not marked`,
    'as an estimate is exact.',
    '',
    markdownTable(
      ['the planner', 'first', 'p50 ms', 'p90 ms', 'max ms', ''],
      conditions.map((one) => [...cellsOf(one), isTooSlow(one) ? 'too slow' : '']),
    ),
    '',
    'By statement: the median time, and the CPU time of the server for each refresh:',
    '',
    markdownTable(
      ['the planner', 'statement', 'p50 ms', 'CPU ms'],
      conditions.flatMap(({ name, parts }) =>
        parts.map((part) => [name, `\`${part.name}\``, part.p50.toFixed(1), part.cpu.toFixed(1)]),
      ),
    ),
    '',
    'The gauges at the end; ≈ marks an estimate:',
    '',
    markdownTable(
      ['queue', 'jobs', ...conditions.map(({ name }) => name)],
      (conditions[0]?.said ?? [])
        .filter(({ queue }) => !queue.startsWith('small.') || queue === 'small.0')
        .map(({ queue, state, jobs }) => [
          `${queue}, ${state}`,
          whole(jobs),
          ...conditions.map(({ said }) =>
            toldOf(said.find((one) => one.queue === queue && one.state === state)),
          ),
        ]),
    ),
    '',
  ].join('\n')
}

export const columns = ['', 'first', 'p50 ms', 'p90 ms', 'max ms']

export function cellsOf({ name, first, p50, p90, worst }: Condition): string[] {
  return [name, ...[first, p50, p90, worst].map((ms) => ms.toFixed(1))]
}

export function isTooSlow({ p50 }: Condition): boolean {
  return p50 > mayTakeMs
}

/** Counts that are reported as exact but are wrong. */
export function wrongIn({ said }: Condition): Said[] {
  return said.filter(({ isEstimate, jobs, told }) => !isEstimate && jobs !== told)
}

function toldOf(said: Said | undefined): string {
  return said === undefined ? '' : `${said.isEstimate ? '≈ ' : ''}${whole(said.told)}`
}

function whole(count: number): string {
  return count.toLocaleString('en-US')
}
