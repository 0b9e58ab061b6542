import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { percentilesOf, rateMs, rateSeconds } from '../series/read-stats.ts'
import type { Percentiles } from '../series/read-stats.ts'
import { queueRules } from '../../../jobs/queue-rules.ts'
import type { RetryBudget } from '../../../jobs/queue-rules.ts'
import { settingsOf } from '../../../jobs/queue-settings.ts'
import { everyOf, MergedBins } from '../series/bins.ts'
import type { Measured } from '../series/bins.ts'
import type { WorkerView } from '../fleet/fleet.ts'
import { queueKindsBinsSql } from './queue-kinds-bins.sql.ts'
import { queueKindsSql } from './queue-kinds.sql.ts'
import type { QueueFigures } from './figures.ts'
import { failureRateOf } from './queues.ts'
import type { GaugeRow } from './read-gauges.ts'

/** The jobs of one kind in a queue. */
export interface KindView {
  kind: string
  ready: number
  running: number
  retrying: number
  scheduled: number
  waiting: number
  /** Jobs that left for good per second, over the same minutes as the queue's `outPerSecond`. */
  perSecond: number
  failureRate: number | null
  run: Percentiles
  /** A live worker handles it. */
  handled: boolean
}

/** The figures of one queue, by kind, priority and key, and its settings. */
export interface QueueDetails extends QueueFigures {
  kinds: KindView[]
  priorities: { priority: number; ready: number }[]
  topKeys: { key: string; ready: number }[]
  settings: { keepMs: number | null; keepDeadMs: number | null }
  /** Null: its retries come at their own times. */
  retryBudget: RetryBudget | null
}

const minutes = 60

/** Reads what only the page of one queue shows, and adds it to the queue's figures. */
export async function readQueue(
  db: Queryable,
  queue: QueueFigures,
  { gauge, workers }: { gauge: GaugeRow | undefined; workers: readonly WorkerView[] },
): Promise<QueueDetails> {
  const hours = await readKinds(db, queue.queue)
  const { keepMs, keepDeadMs } = await settingsOf(db, queue.queue)
  const rules = (await queueRules(db, { queues: [queue.queue] })).get(queue.queue)
  const serving = workers.filter(({ status, queues }) => status !== 'lost' && queue.queue in queues)
  const kinds = [...new Set([...Object.keys(gauge?.kinds ?? {}), ...hours.keys()])].sort()
  return {
    ...queue,
    kinds: kinds.map((kind) => {
      const { ready = 0, running = 0, retrying = 0, scheduled = 0, waiting = 0 } = gauge?.kinds[kind] ?? {}
      const hour = hours.get(kind) ?? nothingHappened
      const handled = serving.some((worker) => worker.kinds.includes(kind))
      return { kind, ready, running, retrying, scheduled, waiting, ...hour, handled }
    }),
    priorities: Object.entries(gauge?.priorities ?? {})
      .map(([priority, ready]) => ({ priority: Number(priority), ready }))
      .sort((a, b) => b.priority - a.priority),
    topKeys: [...(gauge?.topKeys ?? [])],
    settings: { keepMs, keepDeadMs },
    retryBudget: rules?.retryBudget ?? null,
  }
}

type KindHour = Pick<KindView, 'perSecond' | 'failureRate' | 'run'>

const nothingHappened: KindHour = {
  perSecond: 0,
  failureRate: null,
  run: percentilesOf({}),
}

/** The last hour of each kind of a queue. */
async function readKinds(db: Queryable, queue: string): Promise<Map<string, KindHour>> {
  const request = { queue, minutes }
  type Counts = { kind: string; succeeded: number; failed: number; dead: number; rows: number }
  type Rates = { wentOut: number; overMs: number | null }
  const counted = await run(db, queueKindsSql, { ...request, rateMs }, (row: Counts & Rates) => row)
  const seconds = rateSeconds(Math.max(0, ...counted.map(({ overMs }) => overMs ?? 0)))
  const every = everyOf(counted)
  type Row = Measured & { kind: string }
  const measured =
    counted.length === 0 ? [] : await run(db, queueKindsBinsSql, { ...request, every }, (row: Row) => row)
  const bins = new Map(counted.map(({ kind }) => [kind, new MergedBins()]))
  for (const row of measured) bins.get(row.kind)?.add(row)
  return new Map(
    counted.map((counts) => [
      counts.kind,
      {
        perSecond: counts.wentOut / seconds,
        failureRate: failureRateOf([counts]),
        run: percentilesOf(bins.get(counts.kind)?.run ?? {}),
      },
    ]),
  )
}
