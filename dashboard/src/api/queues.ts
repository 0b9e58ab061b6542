import type { Overview, OverviewProblem } from '../../../src/server/api/overview.ts'
import type {
  Pause,
  QueueConcurrency,
  QueueDetails,
  QueueFigures,
  QueueList,
  StatSeries,
} from '../../../src/server/api/queue.ts'
import type { QueuePressure } from '../../../src/server/api/pressure.ts'
import { ranges } from '../url/use-range.ts'
import type { Range } from '../url/use-range.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type {
  Overview,
  OverviewProblem,
  Pause,
  QueueDetails,
  QueueFigures,
  QueueList,
  QueuePressure,
  StatSeries,
}

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

export function queueQuery(queue: string): LiveQuery<QueueDetails> {
  return {
    queryKey: ['queue', queue],
    queryFn: ({ signal }) => get(at('queues', queue), {}, signal),
    topic: `queue:${queue}`,
    // The stream does not tell of paused kinds and keys.
    anywayEveryMs: 10_000,
  }
}

export function pressureQuery(queue: string): LiveQuery<QueuePressure> {
  return {
    queryKey: ['pressure', queue],
    queryFn: ({ signal }) => get(at('queues', queue, 'pressure'), {}, signal),
    everyMs: 5_000,
  }
}

export function concurrencyQuery(queue: string): LiveQuery<QueueConcurrency> {
  return {
    queryKey: ['concurrency', queue],
    queryFn: ({ signal }) => get(at('queues', queue, 'concurrency'), {}, signal),
    everyMs: 5_000,
  }
}

export function statsQuery(
  range: Range,
  scope: { queue?: string; kind?: string } = {},
): LiveQuery<StatSeries> {
  return {
    queryKey: ['stats', range, scope.queue ?? '', scope.kind ?? ''],
    queryFn: async ({ signal }) => {
      const to = Date.now()
      const ask = (): Promise<StatSeries> => {
        const from = fromOf(to, range)
        const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
        return get('stats', { ...scope, ...times, step: stepFor(to - from) }, signal)
      }
      const asked = fromOf(to, range)
      const answer = await ask()
      if (answer.since !== null) countedSince = Date.parse(answer.since)
      return fromOf(to, range) === asked ? answer : ask()
    },
    everyMs: 10_000,
    keep: true,
  }
}

/** Since when there are figures; all scopes have the same. */
let countedSince = -Infinity
/** A chart of less has too few points to be one. */
const leastMs = 10 * 60_000

/** A system that is younger than the range is shown from its beginning on: before, there was nothing to count. */
function fromOf(to: number, range: Range): number {
  return Math.max(to - ranges[range], Math.min(countedSince, to - leastMs))
}

/** A hundred points at most. */
function stepFor(ms: number): string {
  const minutes = ms / 60_000
  if (minutes <= 100) return '1m'
  if (minutes <= 500) return '5m'
  return minutes <= 1_500 ? '15m' : '2h'
}

export function setQueue(queue: string, body: object): Promise<unknown> {
  return send('PATCH', at('queues', queue), body)
}

export function pauseQueue(queue: string, body: object): Promise<unknown> {
  return send('POST', at('queues', queue, 'pause'), body)
}

export function resumeQueue(queue: string, body: object): Promise<unknown> {
  return send('POST', at('queues', queue, 'resume'), body)
}

export function closeOrOpenQueue(queue: string, verb: 'drain' | 'open', body: object): Promise<unknown> {
  return send('POST', at('queues', queue, verb), body)
}

export function setConcurrency(queue: string, body: object): Promise<unknown> {
  return send('PUT', at('queues', queue, 'concurrency'), body)
}

export function clearConcurrency(queue: string): Promise<unknown> {
  return send('DELETE', at('queues', queue, 'concurrency'))
}

/** The steps that are over: in the last one, a few seconds old, everything would look as if it had stopped or failed. */
export function stepsOver({ points, stepMs, asOf }: StatSeries): StatSeries['points'] {
  return points.filter((point) => Date.parse(point.at) + stepMs <= Date.parse(asOf))
}
