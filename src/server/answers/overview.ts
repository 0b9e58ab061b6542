import { estimateText } from '../../core/estimate.ts'
import type { Trouble } from '../../stats/read/trouble.ts'
import type { QueuesOverview } from '../../client/console/view.ts'
import { failureRateOf, waitP95Of } from '../../stats/read/queues/queues.ts'
import { pauseOfQueue } from '../../jobs/pauses/pauses.ts'
import { operationQueue } from '../../operations/contract.ts'
import type { Finding } from '../api/system.ts'
import type { Overview, OverviewProblem } from '../api/overview.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import { everything, mayAll } from '../auth/scope.ts'
import { hidePasswords } from '../auth/secret-names.ts'
import { wire } from '../http/wire.ts'
import { resourceOfPause, withPausesFor } from './pauses.ts'
import { workersFor } from './worker-list.ts'

/** The data that the overview is made from. */
export interface OverviewFacts {
  queues: QueuesOverview
  trouble: Trouble
  /** The findings of `doctor`; none before its first run. */
  findings: readonly Finding[]
}

/** The overview as this caller may see it: all figures are those of the queues that it may see. */
export function overviewFor(caller: Pick<Caller, 'can'>, facts: OverviewFacts): Overview {
  const { queues: all } = facts
  const queues = all.queues
    .filter(({ queue }) => caller.can('view', { queue }))
    .map((one) => withPausesFor(caller, one))
  const hours = queues.flatMap(({ queue }) => all.hours.get(queue) ?? [])
  const workers = workersFor(caller, all.workers)
  // Workers that only execute operations run no jobs of the app.
  const living = workers.filter(
    ({ status, queues: served }) => status !== 'lost' && Object.keys(served).join() !== operationQueue,
  )
  const own = queues.filter(({ queue }) => queue !== operationQueue)
  const sum = (of: (queue: (typeof queues)[number]) => number, over = queues): number =>
    over.reduce((total, queue) => total + of(queue), 0)
  const ages = queues.flatMap(({ oldestReadyMs }) => oldestReadyMs ?? [])
  return wire({
    problems: problemsIn(facts, workers)
      .filter(({ of = [] }) => of.every((resource) => caller.can('view', resource)))
      .map(({ problem }) => problem),
    queues,
    perSecond: sum(({ outPerSecond }) => outPerSecond),
    failureRate: failureRateOf(hours),
    waitP95: waitP95Of(hours),
    oldestReadyMs: ages.length === 0 ? null : Math.max(...ages),
    dead: {
      count: sum(({ dead }) => dead),
      exact: !queues.some(({ atLeast }) => atLeast.includes('dead')),
    },
    workers: living.length,
    slots: sum(({ slots }) => slots, own),
    running: sum(({ running }) => running, own),
    asOf: all.asOf,
  })
}

/** The resources that the overview is about: a caller who may see all of them may see the whole overview. */
export function aboutOverview(facts: OverviewFacts): Resource[] {
  const queues = facts.queues.queues.flatMap(({ queue, pauses }): Resource[] => [
    { queue },
    ...pauses.map((pause) => resourceOfPause(queue, pause)),
  ])
  // Each once: several problems may be about everything.
  return [...new Set([...queues, ...problemsIn(facts).flatMap(({ of = [] }) => of)])]
}

/** The doctor's findings that this caller may see: some name queues, kinds or schedules of other people. */
export function findingsFor(caller: Pick<Caller, 'can'>, facts: OverviewFacts): Finding[] {
  const seesAll = mayAll(caller)
  return facts.findings.filter(({ check }) => seesAll || nameless.has(check))
}

/** Checks of the doctor that are only about the database; the others name queues, kinds, schedules, hosts or statements. */
const nameless: ReadonlySet<string> = new Set([
  ...['server', 'fsync', 'full-page-writes', 'synchronous-commit', 'clock', 'schema', 'invalid-indexes'],
  ...['index-bloat', 'partitions', 'autovacuum', 'dead-rows', 'xid-age', 'notify-queue'],
])

interface Found {
  problem: OverviewProblem
  /** The resources that it is about or names: a caller must see all of them. */
  of?: readonly Resource[] | undefined
}

const oldMs = 5 * 60_000
/** Problems of one sort that are shown; more of them say nothing new. */
const mostAlike = 10

/** The problems that need a person, the worst first. */
function problemsIn(
  facts: OverviewFacts,
  workers: QueuesOverview['workers'] = facts.queues.workers,
): Found[] {
  const { queues, trouble } = facts
  const found = [
    ...ofMigrations(trouble),
    ...ofFindings(facts),
    ...ofClaims(trouble),
    ...ofQueues(queues),
    ...ofErrors(trouble),
    ...ofWorkers(workers),
    ...ofSchedules(trouble),
    ...ofServices(queues),
    ...ofOperations(trouble),
  ]
  const isFailing = ({ problem }: Found): boolean => problem.level === 'fail'
  return [...found.filter(isFailing), ...found.filter((one) => !isFailing(one))]
}

function ofMigrations({ pendingMigrations: pending }: Trouble): Found[] {
  if (pending.length === 0) return []
  const title = `${counted(pending.length, 'migration')} not applied`
  const detail = `${pending.join(', ')}: run \`stint migrate\`.`
  return [{ problem: { level: 'fail', about: 'database', title, detail, link: '/system' } }]
}

const told: ReadonlySet<string> = new Set(['queues', 'claims', 'schedules', 'upkeep'])

function ofFindings({ findings }: OverviewFacts): Found[] {
  return findings.flatMap(({ check, level, title, detail }): Found[] => {
    // Other functions here list these problems already, with the names of queues, schedules and services.
    if (told.has(check) || (level !== 'fail' && level !== 'warn')) return []
    const problem = { level, about: 'database', title, detail, link: '/system' } as const
    return [nameless.has(check) ? { problem } : { problem, of: [everything] }]
  })
}

function ofQueues({ queues }: QueuesOverview): Found[] {
  return queues.flatMap(({ queue, ready, workers, oldestReadyMs, estimated, pauses }): Found[] => {
    const link = `/queues/${encodeURIComponent(queue)}`
    const about = { about: 'queue', link } as const
    const many = estimated.includes('ready')
      ? `${estimateText(ready)} ready jobs`
      : counted(ready, 'ready job')
    const oldest = oldestReadyMs === null ? '' : `, the oldest for ${lasting(oldestReadyMs)}`
    if (ready > 0 && workers === 0) {
      const title = `No worker serves ${queue}`
      const detail = `${many} wait${ready === 1 ? 's' : ''}${oldest}, and no live worker serves this queue.`
      return [{ problem: { level: 'fail', ...about, title, detail }, of: [{ queue }] }]
    }
    // A paused queue is expected to be behind, and shown as paused.
    if (oldestReadyMs === null || oldestReadyMs <= oldMs || pauseOfQueue(pauses) !== undefined) return []
    const title = `${queue} is behind`
    const detail = `${many}${oldest}.`
    return [{ problem: { level: 'warn', ...about, title, detail }, of: [{ queue }] }]
  })
}

function ofClaims({ claims }: Trouble): Found[] {
  return claims.slice(0, mostAlike).map(({ queue, host, pid, since, error }) => ({
    problem: {
      level: 'fail',
      about: 'queue',
      title: `Claims from ${queue} fail`,
      detail: `Worker ${host}/${pid} has claimed no job since ${since ?? '?'}: ${error ?? '?'}`,
      link: `/queues/${encodeURIComponent(queue)}`,
    },
    of: [{ queue }],
  }))
}

function ofErrors({ errors }: Trouble): Found[] {
  return errors
    .slice(0, mostAlike)
    .map(({ fingerprint, kind, name, title, regressedAt, deaths, seenWith }) => ({
      problem: {
        level: 'fail',
        about: 'error-group',
        title: hidePasswords(`${name}: ${title}`).slice(0, 200),
        detail: `${counted(deaths, 'job')} of ${kind} died of this error in the last hour${regressedAt === null ? '' : '. The group was resolved and has regressed'}.`,
        link: `/dead?group=${fingerprint}`,
      },
      // The message is that of the last job with this error.
      of: seenWith === null ? [everything] : [seenWith],
    }))
}

function ofWorkers(workers: QueuesOverview['workers']): Found[] {
  const troubled = workers.filter(({ status }) => status !== 'active')
  return troubled.slice(0, mostAlike).map(({ id, host, pid, status, death, running, leaseUntil }) => {
    const name = host === null ? id : `${host}/${String(pid)}`
    const inHand = `it holds ${counted(running, 'job')}`
    const detail =
      status === 'late'
        ? `The worker missed heartbeats; ${inHand}. Its lease ends at ${leaseUntil.toISOString()}; then other workers take its jobs.`
        : `${death ?? 'The worker stopped sending heartbeats for an unknown reason'}; ${inHand}.`
    return {
      problem: {
        level: 'warn',
        about: 'worker',
        title: `Worker ${name} is ${status}`,
        detail,
        link: '/workers',
      },
    }
  })
}

function ofSchedules({ schedules }: Trouble): Found[] {
  return schedules.slice(0, mostAlike).map(({ name, kind, queue, failures, missed, missedReason }) => {
    const isFailing = failures > 0
    const why = missedReason === null ? '' : ` (${missedReason})`
    return {
      problem: {
        level: isFailing ? 'fail' : 'warn',
        about: 'schedule',
        title: isFailing
          ? `Schedule ${name} does not fire`
          : `Schedule ${name} missed ${counted(missed, 'fire')}`,
        detail: isFailing ? `${counted(failures, 'failure')} in a row.` : `Within the last day${why}.`,
        link: `/schedules?schedule=${encodeURIComponent(name)}`,
      },
      of: [{ queue, kind }],
    }
  })
}

function ofServices({ services, leader, workers }: QueuesOverview): Found[] {
  const failing = services.filter(({ lastError }) => lastError !== null)
  const found: Found[] = failing.map(({ name, lastOkAt }) => ({
    problem: {
      level: 'warn',
      about: 'service',
      title: `Maintenance service ${name} fails`,
      detail: lastOkAt === null ? 'It has never succeeded.' : `Last success: ${lastOkAt.toISOString()}.`,
      link: '/system',
    },
  }))
  const isLed = leader !== null || !workers.some(({ status }) => status === 'active')
  if (isLed) return found
  const title = 'No maintenance leader'
  const detail = 'Workers are alive, but none leads maintenance. One of them should take over within seconds.'
  return [...found, { problem: { level: 'warn', about: 'service', title, detail, link: '/system' } }]
}

function ofOperations({ operations }: Trouble): Found[] {
  return operations.slice(0, mostAlike).map(({ id, action, note, actor }) => ({
    problem: {
      level: 'warn',
      about: 'operation',
      title: `A ${action} by ${actor} was stopped by its rule`,
      detail: note ?? 'Its stop rule applied.',
      link: `/operations/${id}`,
    },
    of: [everything],
  }))
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

function lasting(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}
