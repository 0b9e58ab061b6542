import type { Overview, OverviewProblem } from '../../../src/server/api/overview.ts'
import type { QueueDetail, QueueItem, QueueList, StatSeries } from '../../../src/server/api/queue.ts'
import { ranges } from '../url/use-range.ts'
import type { Range } from '../url/use-range.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { Overview, OverviewProblem, QueueDetail, QueueItem, QueueList, StatSeries }

export function overviewQuery(): LiveQuery<Overview> {
  return {
    queryKey: ['overview'],
    queryFn: ({ signal }) => get('overview', {}, signal),
    topic: 'overview',
    merge: { queues: 'queue' },
  }
}

export function queuesQuery(): LiveQuery<QueueList> {
  return { queryKey: ['queues'], queryFn: ({ signal }) => get('queues', {}, signal), everyMs: 10_000 }
}

export function queueQuery(queue: string): LiveQuery<QueueDetail> {
  return {
    queryKey: ['queue', queue],
    queryFn: ({ signal }) => get(at('queues', queue), {}, signal),
    topic: `queue:${queue}`,
  }
}

export function statsQuery(
  range: Range,
  scope: { queue?: string; kind?: string } = {},
): LiveQuery<StatSeries> {
  return {
    queryKey: ['stats', range, scope.queue ?? '', scope.kind ?? ''],
    queryFn: ({ signal }) => {
      const to = Date.now()
      return get(
        'stats',
        {
          ...scope,
          from: new Date(to - ranges[range]).toISOString(),
          to: new Date(to).toISOString(),
          step: stepOf[range],
        },
        signal,
      )
    },
    everyMs: 10_000,
    keep: true,
  }
}

const stepOf: Record<Range, string> = { '1h': '1m', '6h': '5m', '24h': '15m', '7d': '2h' }

export function setQueue(queue: string, body: object): Promise<unknown> {
  return send('PATCH', at('queues', queue), body)
}

/** The steps that are over: in the last one, a few seconds old, everything would look as if it had stopped or failed. */
export function stepsOver({ points, stepMs, asOf }: StatSeries): StatSeries['points'] {
  return points.filter((point) => Date.parse(point.at) + stepMs <= Date.parse(asOf))
}
