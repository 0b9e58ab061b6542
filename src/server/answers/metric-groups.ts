import { percentile } from '../../core/histogram.ts'
import { pauseOfQueue } from '../../jobs/pauses/pauses.ts'
import type { QueuesOverview } from '../../client/console/view.ts'
import type { BreakerInfo, BreakerState } from '../../limits/breakers/breaker.ts'
import type { LimitInfo } from '../../limits/manage/read.ts'
import type { PressureReport } from '../../limits/pressure/state.ts'
import type { RateTotals } from '../../limits/rates/rate-totals.ts'
import { countedStates } from '../../stats/read/queues/figures.ts'
import type { TotalName, Totals } from '../../stats/read/series/totals.ts'

/** What the metrics are made of. */
export interface MetricFacts {
  queues: QueuesOverview
  totals: readonly Totals[]
  /** Of queues that have a rule or are closed. */
  pressures: readonly PressureReport[]
  limits: readonly LimitInfo[]
  rateTotals: readonly RateTotals[]
  breakers: readonly BreakerInfo[]
  console: { viewers: number; waits: number; dropped: number; refused: number }
}

/** One metric with its samples; a sample without a value is left out. */
export interface Metric {
  name: string
  type: 'gauge' | 'counter'
  help: string
  samples: readonly Sample[]
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null | undefined]

/** The metrics of one subject. */
type MetricGroup = (facts: MetricFacts) => Metric[]

/** All metrics, in the order in which they are sent. */
export const metricGroups: readonly MetricGroup[] = [
  queueMetrics,
  pressureMetrics,
  totalMetrics,
  rateMetrics,
  limitMetrics,
  breakerMetrics,
  claimMetrics,
  workerMetrics,
  upkeepMetrics,
  consoleMetrics,
]

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: 'gauge', help, samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: 'counter', help, samples }
}

function queueMetrics({ queues: { queues, asOf } }: MetricFacts): Metric[] {
  type Queue = (typeof queues)[number]
  const each = (name: string, help: string, of: (queue: Queue) => Sample[1]): Metric =>
    gauge(
      name,
      help,
      queues.map((queue) => [{ queue: queue.queue }, of(queue)]),
    )
  const percentiles = (name: string, help: string, of: 'wait' | 'run'): Metric =>
    gauge(
      name,
      help,
      queues.flatMap((queue) => quantiles({ queue: queue.queue }, queue[of])),
    )
  return [
    gauge(
      'stint_jobs',
      'Jobs of a queue by state; dead letters are counted up to some thousands.',
      queues.flatMap((queue) =>
        countedStates.map((state): Sample => [{ queue: queue.queue, state }, queue[state]]),
      ),
    ),
    each('stint_queue_oldest_ready_seconds', 'How long the oldest ready job has waited.', (queue) =>
      queue.ready === 0 ? 0 : seconds(queue.oldestReadyMs),
    ),
    each('stint_queue_paused', '1 if the whole queue is paused, else 0.', ({ pauses }) =>
      pauseOfQueue(pauses) === undefined ? 0 : 1,
    ),
    each('stint_queue_slots', 'Jobs of a queue that live workers run at once.', ({ slots }) => slots),
    each('stint_queue_workers', 'Live workers that serve a queue.', ({ workers }) => workers),
    each(
      'stint_queue_empty_in_seconds',
      'Time until no job is ready, at the rates of the last 5 minutes.',
      ({ emptyInMs }) => seconds(emptyInMs),
    ),
    each('stint_queue_gauge_age_seconds', 'Age of the figures of a queue.', ({ countedAt }) =>
      countedAt === null ? null : seconds(asOf.getTime() - countedAt.getTime()),
    ),
    percentiles(
      'stint_queue_wait_seconds',
      'Time from when a job was due to its start, over the last hour.',
      'wait',
    ),
    percentiles('stint_queue_run_seconds', 'Run time of an attempt, over the last hour.', 'run'),
  ]
}

function quantiles(
  labels: Readonly<Record<string, string>>,
  { p50, p95, p99 }: { p50: number | null; p95: number | null; p99: number | null },
): Sample[] {
  return [
    [{ ...labels, quantile: '0.5' }, seconds(p50)],
    [{ ...labels, quantile: '0.95' }, seconds(p95)],
    [{ ...labels, quantile: '0.99' }, seconds(p99)],
  ]
}

function pressureMetrics({ pressures }: MetricFacts): Metric[] {
  return [
    gauge(
      'stint_queue_pressure',
      'The share of its maximum depth or age that a queue with a rule has reached; 1: full.',
      pressures.map(({ queue, share }) => [{ queue }, share]),
    ),
    gauge(
      'stint_queue_closed',
      '1 if a queue drains and takes no jobs, else 0.',
      pressures.map(({ queue, state }) => [{ queue }, state === 'closed' ? 1 : 0]),
    ),
    counter(
      'stint_enqueue_refused_total',
      'Jobs that producers were refused, because the queue was full or closed.',
      pressures.map(({ queue, refused }) => [{ queue }, refused]),
    ),
  ]
}

const totalNames: Readonly<Record<TotalName, readonly [name: string, help: string]>> = {
  enqueued: ['stint_jobs_enqueued_total', 'Jobs stored by clients and handlers of Stint.'],
  started: ['stint_attempts_started_total', 'Attempts that began.'],
  succeeded: ['stint_jobs_succeeded_total', 'Jobs that succeeded.'],
  failed: ['stint_attempts_failed_total', 'Attempts that failed and are retried.'],
  dead: ['stint_jobs_dead_total', 'Jobs that died.'],
  cancelled: ['stint_jobs_cancelled_total', 'Jobs that were cancelled.'],
  snoozed: ['stint_attempts_snoozed_total', 'Attempts that their handler postponed.'],
  released: ['stint_attempts_released_total', 'Attempts that were given back.'],
  crashed: ['stint_attempts_crashed_total', 'Attempts whose process ended.'],
  leaseExpired: ['stint_leases_expired_total', 'Jobs taken back from workers that were lost.'],
  refused: ['stint_settles_refused_total', 'Endings that came too late.'],
  moved: ['stint_retries_moved_total', 'Retries that were put off by a retry budget.'],
}

function totalMetrics({ totals }: MetricFacts): Metric[] {
  return Object.entries(totalNames).map(([total, [name, help]]) =>
    counter(
      name,
      help,
      totals.map((one) => [{ queue: one.queue, kind: one.kind }, one[total as TotalName]]),
    ),
  )
}

function rateMetrics({ limits, rateTotals }: MetricFacts): Metric[] {
  const byName = new Map(rateTotals.map((totals) => [totals.name, totals]))
  const rates = limits.filter(({ type }) => type === 'rate')
  return [
    gauge(
      'stint_rate_tokens',
      'Tokens of a rate that has one bucket; below zero: promised to takers that wait.',
      rates.map(({ name, available }) => [{ rate: name }, available]),
    ),
    counter(
      'stint_rate_taken_total',
      'Tokens that were taken of a rate.',
      rates.map(({ name }) => [{ rate: name }, byName.get(name)?.taken]),
    ),
    counter(
      'stint_rate_refused_total',
      'Takers that a rate had no tokens for.',
      rates.map(({ name }) => [{ rate: name }, byName.get(name)?.refused]),
    ),
  ]
}

/** Of a limit by key, the key that is nearest to its maximum: a metric for each key would have no bound. */
function limitMetrics({ limits }: MetricFacts): Metric[] {
  const concurrency = limits.filter(({ type }) => type === 'concurrency')
  const first = ({ byKey, keys }: LimitInfo): LimitInfo['keys'][number] | undefined =>
    byKey ? keys[0] : undefined
  return [
    gauge(
      'stint_limit_used',
      'Running jobs that a concurrency limit counts; of a limit by key, those of the key nearest to its maximum.',
      concurrency.map((one) => [{ limit: one.name }, one.byKey ? (first(one)?.used ?? 0) : one.used]),
    ),
    gauge(
      'stint_limit_max',
      'The maximum of a concurrency limit; of a limit by key, that of the same key.',
      concurrency.map((one) => [{ limit: one.name }, first(one)?.max ?? one.max]),
    ),
    gauge(
      'stint_limit_ready_behind',
      'About how many ready jobs a limit or a rate keeps waiting.',
      limits.map(({ name, readyBehind }) => [{ limit: name }, readyBehind]),
    ),
  ]
}

const stateValues: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 }

function breakerMetrics({ breakers }: MetricFacts): Metric[] {
  return [
    gauge(
      'stint_breaker_state',
      'State of a breaker: 0 closed, 1 half-open, 2 open.',
      breakers.map(({ name, state }) => [{ breaker: name }, stateValues[state]]),
    ),
    counter(
      'stint_breaker_changes_total',
      'How often the state of a breaker changed.',
      breakers.map(({ name, changes }) => [{ breaker: name }, changes]),
    ),
  ]
}

function claimMetrics({ queues: { queues, claims } }: MetricFacts): Metric[] {
  return [
    gauge(
      'stint_claim_seconds',
      'Time of a claim, over the last minute: plain, by lanes of keys, or limited.',
      Object.entries(claims.ways).flatMap(([way, bins]) =>
        quantiles(
          { way },
          { p50: percentile(bins, 0.5), p95: percentile(bins, 0.95), p99: percentile(bins, 0.99) },
        ),
      ),
    ),
    gauge(
      'stint_ring_lanes',
      'Keys of a queue that may have ready jobs, in the worker that knows the most.',
      queues.map(({ queue }) => [{ queue }, claims.lanes.get(queue)]),
    ),
  ]
}

function workerMetrics({ queues: { workers } }: MetricFacts): Metric[] {
  const live = workers.filter(({ status }) => status !== 'lost')
  return [
    gauge(
      'stint_workers',
      'Workers by status. Lost workers are counted for an hour.',
      ['active', 'late', 'lost'].map((status) => [
        { status },
        workers.filter((worker) => worker.status === status).length,
      ]),
    ),
    gauge('stint_workers_resident_memory_bytes', 'Resident memory of all live workers together.', [
      [{}, live.reduce((sum, { rssBytes }) => sum + (rssBytes ?? 0), 0)],
    ]),
  ]
}

function upkeepMetrics({ queues: { leader, services, asOf } }: MetricFacts): Metric[] {
  const age = (at: Date | null | undefined): number | null =>
    at === null || at === undefined ? null : seconds(Math.max(0, asOf.getTime() - at.getTime()))
  return [
    gauge('stint_upkeep_leader', '1 if a worker is the upkeep leader, else 0.', [
      [{}, leader === null ? 0 : 1],
    ]),
    gauge('stint_upkeep_leader_age_seconds', 'For how long the current worker has led.', [
      [{}, age(leader?.since)],
    ]),
    gauge(
      'stint_service_ok_age_seconds',
      'Since the last success of a service of upkeep.',
      services.map(({ name, lastOkAt }) => [{ service: name }, age(lastOkAt)]),
    ),
    gauge(
      'stint_service_failing',
      '1 if the last run of an upkeep service failed, else 0.',
      services.map(({ name, lastError }) => [{ service: name }, lastError === null ? 0 : 1]),
    ),
  ]
}

function consoleMetrics({ console: { viewers, waits, dropped, refused } }: MetricFacts): Metric[] {
  return [
    gauge('stint_console_viewers', 'Open event streams.', [[{}, viewers]]),
    gauge('stint_console_waits', 'Requests that wait for a job to end.', [[{}, waits]]),
    counter(
      'stint_console_streams_dropped_total',
      'Event streams closed because their reader was too slow.',
      [[{}, dropped]],
    ),
    counter(
      'stint_console_refused_total',
      'Requests refused because of a limit of this console, since it started.',
      [[{}, refused]],
    ),
  ]
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000
}
