import type { Queryable } from '../db/statement.ts'
import { readStats } from '../numbers/read-stats.ts'
import type { Percentiles, QueueGauge } from '../numbers/read-stats.ts'
import { settingsOf } from '../queues/settings.ts'
import type { WorkerView } from './fleet.ts'
import type { QueueView } from './queues.ts'

/** A kind of jobs in a queue. */
export interface KindView {
  kind: string
  ready: number
  running: number
  retrying: number
  scheduled: number
  waiting: number
  /** Jobs that succeeded in a second, over the last hour. */
  perSecond: number
  failureRate: number | null
  run: Percentiles
  /** A live worker handles it. */
  handled: boolean
}

export interface QueueDetails extends QueueView {
  kinds: KindView[]
  priorities: { priority: number; ready: number }[]
  topKeys: { key: string; ready: number }[]
  settings: { keepMs: number | null; keepDeadMs: number | null }
}

const minutes = 60
const minuteMs = 60_000

/** What else there is to see of one queue. */
export async function readQueue(
  db: Queryable,
  queue: QueueView,
  { gauge, workers, asOf }: { gauge: QueueGauge | undefined; workers: readonly WorkerView[]; asOf: Date },
): Promise<QueueDetails> {
  const from = new Date(asOf.getTime() - minutes * minuteMs)
  // In minutes, of which as many make one step: hours begin with the hour.
  const request = {
    queue: queue.queue,
    kind: null,
    from,
    to: asOf,
    stepMs: (minutes + 1) * minuteMs,
    by: 'kind',
  } as const
  const series = new Map((await readStats(db, request)).map((one) => [one.kind ?? '', one]))
  const { keepMs, keepDeadMs } = await settingsOf(db, queue.queue)
  const serving = workers.filter(({ status, queues }) => status !== 'lost' && queue.queue in queues)
  const kinds = [...new Set([...Object.keys(gauge?.kinds ?? {}), ...series.keys()])].sort()
  return {
    ...queue,
    kinds: kinds.map((kind) => {
      const { ready = 0, running = 0, retrying = 0, scheduled = 0, waiting = 0 } = gauge?.kinds[kind] ?? {}
      const { perSecond = 0, failureRate = null, run = nothingMeasured } = series.get(kind) ?? {}
      const handled = serving.some((worker) => worker.kinds.includes(kind))
      return { kind, ready, running, retrying, scheduled, waiting, perSecond, failureRate, run, handled }
    }),
    priorities: Object.entries(gauge?.priorities ?? {})
      .map(([priority, ready]) => ({ priority: Number(priority), ready }))
      .sort((a, b) => b.priority - a.priority),
    topKeys: [...(gauge?.topKeys ?? [])],
    settings: { keepMs, keepDeadMs },
  }
}

const nothingMeasured: Percentiles = { p50: null, p95: null, p99: null }
