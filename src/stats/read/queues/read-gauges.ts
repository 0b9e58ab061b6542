import { numberIn, numbersIn, objectIn, textIn } from '../../../core/json/stored-json.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { countedStates } from './figures.ts'
import type { CountedState } from './figures.ts'
import { readGaugesSql } from './read-gauges.sql.ts'

/** Dead letters are counted elsewhere: they leave the live table, and do not change by the second. */
export type GaugeState = Exclude<CountedState, 'dead'>
export const gaugeStates: readonly GaugeState[] = countedStates.filter((state) => state !== 'dead')

/** A row of stint.queue_gauge: the jobs of a queue as the leader last counted them. */
export interface GaugeRow extends Record<GaugeState, number> {
  queue: string
  /** When they were counted, by the database's clock. */
  countedAt: Date
  /** The states whose count is an estimate: those with thousands of jobs, or fewer if there are many queues. */
  estimated: readonly GaugeState[]
  oldestReadyMs: number | null
  /** By kind and state. */
  kinds: Readonly<Record<string, Readonly<Partial<Record<GaugeState, number>>>>>
  /** Ready jobs by priority. */
  priorities: Readonly<Record<string, number>>
  /** The keys with the most ready jobs, up to 50. */
  topKeys: readonly { key: string; ready: number }[]
}

/** Gauges are refreshed at least every 12 s: if they are older than this, no worker refreshes them. */
const oldestMs = 30_000

/** The gauges of every queue that has jobs; none if they are older than `oldestMs`. */
export function readGauges(db: Queryable, request: { oldestMs: number } = { oldestMs }): Promise<GaugeRow[]> {
  return run(db, readGaugesSql, request, (row: GaugeRow) => ({
    ...row,
    estimated: gaugeStates.filter((state) => row.estimated.includes(state)),
    kinds: Object.fromEntries(
      Object.entries(objectIn(row.kinds)).map(([kind, states]) => [kind, numbersIn(states)]),
    ),
    priorities: numbersIn(row.priorities),
    topKeys: (Array.isArray(row.topKeys) ? row.topKeys : []).flatMap((one: unknown) => {
      const [key, ready] = [textIn(one, 'key'), numberIn(one, 'ready')]
      return key === null || ready === null ? [] : [{ key, ready }]
    }),
  }))
}
