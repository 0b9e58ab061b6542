import { form } from './form.ts'
import { byFunction } from './hostile-calls.ts'
import { describePlanted, kinds, ofParts, operationOfJobs } from './hostile-planted.ts'
import type { Planted } from './hostile-planted.ts'

/** One request over HTTP. */
export interface Look {
  path: string
  about: string
  /** Whether the row exists, so that it has to be shown. */
  isKnown: boolean
}

/** One command that reads. */
export interface Command {
  args: string[]
  about: string
  isKnown: boolean
}

/** A name as a part of a path; undefined if no URL can hold it. */
export function segment(name: string): string | undefined {
  return ['', '.', '..'].includes(name) || name.length > 8_000 ? undefined : encodeURIComponent(name)
}

/** The requests for each route that reads; lists and streams are read separately. */
export function looksAt(shown: readonly Planted[]): Readonly<Record<string, Look[]>> {
  const rowsOf = (...tables: string[]): Planted[] => shown.filter(({ table }) => tables.includes(table))
  /** In the short form, some routes are called only for rows whose column they read. */
  const about = (rows: readonly Planted[], ...columns: string[]): Planted[] =>
    rows.filter(({ column }) => form !== 'short' || columns.includes(column))
  // One reader serves all three tables, so columns of live jobs are tested there only.
  const ofLive = new Set(rowsOf('job').map(({ column }) => column))
  const one = rowsOf('job', 'dead', 'finished').filter(
    ({ table, column, circumstance }) =>
      form !== 'short' ||
      (circumstance !== 'many at once' && (table === 'job' || !ofLive.has(column) || column === 'id')),
  )
  const gauges = rowsOf('queue', 'queue_gauge').filter((_, at) => form !== 'short' || at % 8 === 0)
  const schedules = rowsOf('schedule')
  const operations = rowsOf('operation')
  const relatives = ['correlation_id', 'parent_id', 'replaces', 'replaced_by', 'created_at', 'search']
  return {
    ...Object.fromEntries(screens.map((path) => [path, [plain(path)]])),
    '/v1/stats': statsQueries().map((query) => plain(`/v1/stats${query}`)),
    '/v1/queues/{queue}': [...about(rowsOf('queue', 'queue_gauge'), 'name', 'queue'), ...gauges].flatMap(
      toLook('/v1/queues/{queue}', { isKnown: false }),
    ),
    '/v1/queues/{queue}/pressure': about(
      rowsOf('queue'),
      ...['name', 'pressure', 'closed_at', 'close_reason', 'takes_jobs'],
    ).flatMap(toLook('/v1/queues/{queue}/pressure', { isKnown: false })),
    '/v1/queues/{queue}/concurrency': about(
      rowsOf('queue'),
      ...['name', 'concurrency', 'concurrency_until', 'concurrency_by', 'concurrency_reason'],
    ).flatMap(toLook('/v1/queues/{queue}/concurrency', { isKnown: false })),
    '/v1/jobs': [],
    '/v1/jobs/{id}': one.flatMap(toLook('/v1/jobs/{id}')),
    '/v1/jobs/{id}/attempts': about(one, 'id', 'created_at', 'started_at').flatMap(
      toLook('/v1/jobs/{id}/attempts'),
    ),
    '/v1/jobs/{id}/steps': about(one, 'id', 'steps').flatMap(toLook('/v1/jobs/{id}/steps')),
    '/v1/jobs/{id}/why': about(
      one,
      'id',
      'key',
      'run_at',
      'options',
      'started_at',
      'reason',
      'waits',
    ).flatMap(toLook('/v1/jobs/{id}/why')),
    '/v1/jobs/{id}/why-twice': about(one, 'id', 'attempt', 'attempts_before').flatMap(
      toLook('/v1/jobs/{id}/why-twice'),
    ),
    '/v1/jobs/{id}/logs': about(one, 'id', 'created_at').flatMap(toLook('/v1/jobs/{id}/logs')),
    '/v1/jobs/{id}/lineage': about(one, 'id', ...relatives).flatMap(toLook('/v1/jobs/{id}/lineage')),
    // A dead or cancelled job has no result, and the answer says so.
    '/v1/jobs/{id}/result': about(one, 'id', 'result', 'reason', 'state').flatMap(
      toLook('/v1/jobs/{id}/result', { isKnown: false }),
    ),
    '/v1/operations': [],
    '/v1/operations/{id}': operations.flatMap(toLook('/v1/operations/{id}')),
    '/v1/operations/{id}/jobs': [
      plain(`/v1/operations/${operationOfJobs}/jobs?limit=1000`),
      ...about(operations, 'id', 'settings').flatMap(toLook('/v1/operations/{id}/jobs')),
    ],
    '/v1/error-groups': [],
    '/v1/error-groups/{group}': rowsOf('error_group').flatMap(toLook('/v1/error-groups/{group}')),
    '/v1/breakers': [plain('/v1/breakers')],
    '/v1/breakers/{name}': [
      plain(`/v1/breakers/${ofParts.breaker}`),
      ...rowsOf('breaker').flatMap(toLook('/v1/breakers/{name}')),
    ],
    '/v1/flows': [],
    '/v1/flows/{id}': rowsOf('flow').flatMap(toLook('/v1/flows/{id}')),
    '/v1/flows/{id}/graph': about(rowsOf('flow'), 'id', 'created_at').flatMap(toLook('/v1/flows/{id}/graph')),
    '/v1/limits': [],
    '/v1/limits/{name}': [
      ...[ofParts.concurrency_limit, ofParts.rate].map((name) => plain(`/v1/limits/${name}`)),
      ...rowsOf('concurrency_limit', 'rate').flatMap(toLook('/v1/limits/{name}')),
    ],
    '/v1/limits/{name}/keys': about(rowsOf('concurrency_limit', 'rate'), 'name').flatMap(
      toLook('/v1/limits/{name}/keys'),
    ),
    '/v1/schedules': [],
    '/v1/schedules/{name}': schedules
      .filter(({ column }) => form !== 'short' || !shownAsText.includes(column))
      .flatMap(toLook('/v1/schedules/{name}')),
    '/v1/schedules/{name}/next': about(
      schedules,
      'name',
      'spec',
      'time_zone',
      'starts_at',
      'ends_at',
    ).flatMap(toLook('/v1/schedules/{name}/next', { isKnown: false })),
    '/v1/schedules/{name}/fires': [
      plain(`/v1/schedules/${ofParts.schedule}/fires?limit=200`),
      ...about(schedules, 'name').flatMap(toLook('/v1/schedules/{name}/fires')),
    ],
    '/v1/audit': [],
    '/v1/events': [],
    // What it shows is signed.
    '/approvals/{token}': [],
  }
}

/** Columns of a schedule that its page and the list print in the same way. */
const shownAsText = [
  ...['kind', 'queue', 'overlap', 'missed', 'source', 'app_version', 'digest', 'pause_reason', 'last_error'],
]

const screens = [
  ...['/v1/health/live', '/v1/health/ready', '/v1/me', '/v1/openapi.json', '/v1/overview', '/v1/queues'],
  ...['/v1/workers', '/v1/leases', '/v1/system', '/v1/kinds', '/v1/metrics', '/metrics'],
]

/** The lists, each read to its end, and the tables whose rows they show. */
export const lists: Readonly<Record<string, string[]>> = {
  '/v1/jobs': ['job', 'dead', 'finished'],
  '/v1/jobs?where=state:scheduled': [],
  '/v1/jobs?where=state:ready,waiting,retrying,running': [],
  '/v1/jobs?where=state:dead': ['dead'],
  '/v1/jobs?where=state:succeeded,cancelled': ['finished'],
  '/v1/operations': ['operation'],
  '/v1/error-groups': [],
  '/v1/schedules': ['schedule'],
  [`/v1/schedules/${ofParts.schedule}/fires`]: [],
  '/v1/flows': ['flow'],
  '/v1/limits': ['concurrency_limit', 'rate'],
  [`/v1/limits/${ofParts.concurrency_limit}/keys`]: [],
  '/v1/audit': ['audit'],
}

/** Every command that reads, without an argument and for each row. */
export function commandsAbout(shown: readonly Planted[]): Command[] {
  const overviews = [
    ...[['status'], ['stats'], ['stats', '--last', '3h'], ['job', 'list', '--limit', '200']],
    ...['scheduled', 'ready', 'dead', 'succeeded', 'cancelled'].map((state) => [
      ...['job', 'list', '--limit', '200', '--where', `state:${state}`],
    ]),
    ...[
      ['dead', 'list', '--limit', '200'],
      ['dead', 'groups'],
      ['op', 'list', '--limit', '200'],
    ],
    ...[
      ['op', 'jobs', operationOfJobs],
      ['audit', 'list', '--limit', '200'],
      ['error', 'list'],
      ['queue', 'list'],
    ],
    ...[
      ['schedule', 'list'],
      ['schedule', 'get', ofParts.schedule, '--fires', '1000'],
    ],
    ...[
      ['limit', 'list'],
      ['limit', 'get', ofParts.concurrency_limit],
      ['limit', 'keys', ofParts.concurrency_limit],
      ['limit', 'get', ofParts.rate],
    ],
    ...[
      ['flow', 'list', '--limit', '200'],
      ['breaker', 'list'],
      ['breaker', 'get', ofParts.breaker],
    ],
  ]
  const gets = [
    ['job get', 'job', 'finished'],
    ['dead get', 'dead'],
    ['op get', 'operation'],
    ['error get', 'error_group'],
    ['schedule get', 'schedule'],
    ['schedule next', 'schedule'],
    ['queue get', 'queue'],
    ['queue pressure', 'queue'],
    ['queue concurrency', 'queue'],
    ['limit get', 'concurrency_limit', 'rate'],
    ['breaker get', 'breaker'],
    ['flow get', 'flow'],
    ['flow graph', 'flow'],
  ] as const
  const seen = new Set<string>()
  return [
    ...overviews.flatMap((args) =>
      ['table', 'json'].map((output) => ({
        args: [...args, '-o', output],
        about: args.join(' '),
        isKnown: true,
      })),
    ),
    ...gets.flatMap(([name, ...tables]) =>
      shown
        .filter((row) => tables.some((table) => table === row.table) && isTurnOf(row, name, seen))
        .map((row) => ({
          args: [...name.split(' '), row.id],
          about: `${name} ${describePlanted(row)}`,
          // Commands refuse a name that could not be stored today.
          isKnown: !row.isBarred && !name.startsWith('queue ') && name !== 'schedule next',
        })),
    ),
  ].filter(({ args }) => args.every((arg) => arg.length < 8_000))
}

/**
 * In the short form, each value appears once on a page, and in each column of times: a page prints all other columns of
 * a type in the same way, and the page of dead letters is the page of jobs.
 */
function isTurnOf({ column, value: { label } }: Planted, command: string, seen: Set<string>): boolean {
  const isTime = column.endsWith('_at') || column.endsWith('_until')
  const page = command === 'dead get' ? 'job get' : command
  const turn = `${page} ${isTime ? column : ''} ${label}`
  if (form === 'short' && seen.has(turn)) return false
  seen.add(turn)
  return true
}

function plain(path: string): Look {
  return { path, about: path, isKnown: true }
}

function toLook(path: string, { isKnown = true } = {}): (row: Planted) => Look[] {
  return (row) => {
    const name = segment(row.id)
    if (name === undefined) return []
    const look = { path: path.replace(/\{\w+\}/, name), about: describePlanted(row) }
    return [{ ...look, isKnown: isKnown && !row.isBarred }]
  }
}

function statsQueries(): string[] {
  const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()
  return ['', `?queue=${byFunction}`, `?kind=${kinds.good}`, `?from=${hoursAgo(3)}`, `?from=${hoursAgo(720)}`]
}
