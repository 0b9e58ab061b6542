import { pauseOfQueue } from '../../jobs/pauses/pauses.ts'
import type { QueuesOverview } from '../../client/console/view.ts'
import type { PressureReport } from '../../limits/pressure/state.ts'
import { countedStates } from '../../stats/read/queues/figures.ts'
import type { TotalName, Totals } from '../../stats/read/series/totals.ts'
import type { BreakerInfo, BreakerState } from '../../limits/breakers/breaker.ts'
import type { Caller } from '../auth/caller.ts'
import type { RateFigures } from '../../limits/rates/rate-figures.ts'
import type { LimitInfo } from '../../limits/manage/read.ts'
import { maySeeLimit } from './limit-item.ts'
import { maySeeBreaker } from './breaker-scope.ts'
import { workersFor } from './worker-list.ts'

export interface MetricFacts {
  caller: Pick<Caller, 'can'>
  queues: QueuesOverview
  totals: readonly Totals[]
  /** Of queues that have a rule or are closed. */
  pressures: readonly PressureReport[]
  rates: readonly RateFigures[]
  limits: readonly LimitInfo[]
  breakers: readonly BreakerInfo[]
  console: { viewers: number; waits: number; dropped: number; refused: number }
}

type Labels = Readonly<Record<string, string>>

/** The figures that this caller may see, in the text format of Prometheus. */
export function metricsText({
  caller,
  queues: all,
  totals,
  pressures,
  rates,
  limits,
  breakers,
  console: own,
}: MetricFacts): string {
  const page = new Page()
  const queues = all.queues.filter(({ queue }) => caller.can('view', { queue }))

  const jobs = page.metric(
    'stint_jobs',
    'gauge',
    'Jobs of a queue by state; dead letters are counted up to some thousands.',
  )
  for (const queue of queues) {
    for (const state of countedStates) jobs({ queue: queue.queue, state }, queue[state])
  }
  const each = (
    name: string,
    help: string,
    of: (queue: (typeof queues)[number]) => number | null | undefined,
  ): void => {
    const metric = page.metric(name, 'gauge', help)
    for (const queue of queues) metric({ queue: queue.queue }, of(queue))
  }
  each('stint_queue_oldest_ready_seconds', 'How long the oldest ready job has waited.', (queue) =>
    queue.ready === 0 ? 0 : seconds(queue.oldestReadyMs),
  )
  each('stint_queue_paused', '1 if the whole queue is paused, else 0.', ({ pauses }) =>
    pauseOfQueue(pauses) === undefined ? 0 : 1,
  )
  each('stint_queue_slots', 'Jobs of a queue that live workers run at once.', ({ slots }) => slots)
  each('stint_queue_workers', 'Live workers that serve a queue.', ({ workers }) => workers)
  each(
    'stint_queue_empty_in_seconds',
    'Time until no job is ready, at the rates of the last 5 minutes.',
    (queue) => seconds(queue.emptyInMs),
  )
  each('stint_queue_gauge_age_seconds', 'Age of the figures of a queue.', ({ countedAt }) =>
    countedAt === null ? null : seconds(all.asOf.getTime() - countedAt.getTime()),
  )
  for (const [name, help, of] of [
    ['stint_queue_wait_seconds', 'Time from when a job was due to its start, over the last hour.', 'wait'],
    ['stint_queue_run_seconds', 'Run time of an attempt, over the last hour.', 'run'],
  ] as const) {
    const metric = page.metric(name, 'gauge', help)
    for (const queue of queues) {
      metric({ queue: queue.queue, quantile: '0.5' }, seconds(queue[of].p50))
      metric({ queue: queue.queue, quantile: '0.95' }, seconds(queue[of].p95))
      metric({ queue: queue.queue, quantile: '0.99' }, seconds(queue[of].p99))
    }
  }

  pressureMetrics(
    page,
    pressures.filter(({ queue }) => caller.can('view', { queue })),
  )

  const visible = totals.filter(({ queue, kind }) => caller.can('view', { queue, kind }))
  for (const [name, [metricName, help]] of Object.entries(counters)) {
    const metric = page.metric(metricName, 'counter', help)
    for (const total of visible) metric({ queue: total.queue, kind: total.kind }, total[name as TotalName])
  }

  rateMetrics(page, rates.filter(isVisible(caller)))
  limitMetrics(
    page,
    limits.filter((limit) => maySeeLimit(caller, limit)),
  )
  breakerMetrics(
    page,
    breakers.filter((breaker) => maySeeBreaker(caller, breaker)),
  )

  const fleet = workersFor(caller, all.workers)
  const workers = page.metric(
    'stint_workers',
    'gauge',
    'Workers by status. Lost workers are counted for an hour.',
  )
  for (const status of ['active', 'late', 'lost'])
    workers({ status }, fleet.filter((worker) => worker.status === status).length)
  const memory = page.metric(
    'stint_workers_resident_memory_bytes',
    'gauge',
    'Resident memory of all live workers together.',
  )
  memory(
    {},
    fleet.reduce((sum, { status, rssBytes }) => sum + (status === 'lost' ? 0 : (rssBytes ?? 0)), 0),
  )

  const age = (at: Date | null): number | null =>
    at === null ? null : seconds(Math.max(0, all.asOf.getTime() - at.getTime()))
  const leader = page.metric('stint_upkeep_leader', 'gauge', '1 if a worker is the upkeep leader, else 0.')
  leader({}, all.leader === null ? 0 : 1)
  const since = page.metric(
    'stint_upkeep_leader_age_seconds',
    'gauge',
    'For how long the current worker has led.',
  )
  since({}, age(all.leader?.since ?? null))
  const okAge = page.metric(
    'stint_service_ok_age_seconds',
    'gauge',
    'Since the last success of a service of upkeep.',
  )
  for (const { name, lastOkAt } of all.services) okAge({ service: name }, age(lastOkAt))
  const failing = page.metric(
    'stint_service_failing',
    'gauge',
    '1 if the last run of an upkeep service failed, else 0.',
  )
  for (const { name, lastError } of all.services) failing({ service: name }, lastError === null ? 0 : 1)

  page.metric('stint_console_viewers', 'gauge', 'Open event streams.')({}, own.viewers)
  page.metric('stint_console_waits', 'gauge', 'Requests that wait for a job to end.')({}, own.waits)
  page.metric(
    'stint_console_streams_dropped_total',
    'counter',
    'Event streams closed because their reader was too slow.',
  )({}, own.dropped)
  page.metric(
    'stint_console_refused_total',
    'counter',
    'Requests refused because of a limit of this console, since it started.',
  )({}, own.refused)
  return page.text
}

function pressureMetrics(page: Page, pressures: readonly PressureReport[]): void {
  const share = page.metric(
    'stint_queue_pressure',
    'gauge',
    'The share of its maximum depth or age that a queue with a rule has reached; 1: full.',
  )
  for (const pressure of pressures) share({ queue: pressure.queue }, pressure.share)
  const closed = page.metric('stint_queue_closed', 'gauge', '1 if a queue drains and takes no jobs, else 0.')
  for (const { queue, state } of pressures) closed({ queue }, state === 'closed' ? 1 : 0)
  const refused = page.metric(
    'stint_enqueue_refused_total',
    'counter',
    'Jobs that producers were refused, because the queue was full or closed.',
  )
  for (const pressure of pressures) refused({ queue: pressure.queue }, pressure.refused)
}

/** A rate without queues is of no use to a caller who sees only some. */
function isVisible(caller: Pick<Caller, 'can'>): (rate: RateFigures) => boolean {
  return ({ queues }) =>
    queues.length === 0 ? caller.can('view') : queues.every((queue) => caller.can('view', { queue }))
}

function rateMetrics(page: Page, rates: readonly RateFigures[]): void {
  const tokens = page.metric(
    'stint_rate_tokens',
    'gauge',
    'Tokens of a rate that has one bucket; below zero: promised to takers that wait.',
  )
  for (const rate of rates) tokens({ rate: rate.name }, rate.tokens)
  const taken = page.metric('stint_rate_taken_total', 'counter', 'Tokens that were taken of a rate.')
  for (const rate of rates) taken({ rate: rate.name }, rate.taken)
  const refused = page.metric('stint_rate_refused_total', 'counter', 'Takers that a rate had no tokens for.')
  for (const rate of rates) refused({ rate: rate.name }, rate.refused)
}

/** Of a limit by key, the key that is nearest to its maximum: a metric for each key would have no bound. */
function limitMetrics(page: Page, limits: readonly LimitInfo[]): void {
  const used = page.metric(
    'stint_limit_used',
    'gauge',
    'Running jobs that a concurrency limit counts; of a limit by key, those of the key nearest to its maximum.',
  )
  const concurrency = limits.filter(({ type }) => type === 'concurrency')
  const first = ({ byKey, keys }: LimitInfo): LimitInfo['keys'][number] | undefined =>
    byKey ? keys[0] : undefined
  for (const one of concurrency) used({ limit: one.name }, one.byKey ? (first(one)?.used ?? 0) : one.used)
  const max = page.metric(
    'stint_limit_max',
    'gauge',
    'The maximum of a concurrency limit; of a limit by key, that of the same key.',
  )
  for (const one of concurrency) max({ limit: one.name }, first(one)?.max ?? one.max)
  const behind = page.metric(
    'stint_limit_ready_behind',
    'gauge',
    'About how many ready jobs a limit or a rate keeps waiting.',
  )
  for (const one of limits) behind({ limit: one.name }, one.readyBehind)
}

const counters: Readonly<Record<TotalName, readonly [name: string, help: string]>> = {
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

function breakerMetrics(page: Page, breakers: readonly BreakerInfo[]): void {
  const state = page.metric(
    'stint_breaker_state',
    'gauge',
    'State of a breaker: 0 closed, 1 half-open, 2 open.',
  )
  for (const breaker of breakers) state({ breaker: breaker.name }, stateValues[breaker.state])
  const changes = page.metric(
    'stint_breaker_changes_total',
    'counter',
    'How often the state of a breaker changed.',
  )
  for (const breaker of breakers) changes({ breaker: breaker.name }, breaker.changes)
}

const stateValues: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 }

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000
}

/** Metrics one after the other; a metric without values is left out, with its name and help. */
class Page {
  #lines: string[] = []

  get text(): string {
    return `${this.#lines.join('\n')}\n`
  }

  metric(
    name: string,
    type: 'gauge' | 'counter',
    help: string,
  ): (labels: Labels, value: number | null | undefined) => void {
    let isNamed = false
    return (labels, value) => {
      if (value === null || value === undefined) return
      if (!isNamed) this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
      isNamed = true
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
      this.#lines.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`)
    }
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
