import { createHash, randomUUID } from 'node:crypto'
import { nextId } from '../../src/jobs/new/ids.ts'
import { isWritable } from './hostile-catalog.ts'
import type { WritableColumn } from './hostile-catalog.ts'
import { hostileValues, usualValue } from './hostile-values.ts'
import type { Hostile } from './hostile-values.ts'

export type Row = Record<string, string | null>

/** A row with one hostile column. */
export interface Planted {
  table: string
  column: string
  value: Hostile
  /** What else is special about the row: the state of the job, or that it is a copy. */
  circumstance: string
  /** The value of its first column, which identifies it. */
  id: string
  /** The queue of its neighbours, if it is a job. */
  queue: string
  row: Row
  /**
   * A validated constraint keeps such rows out, old ones too: no operation on the row has to work, but no other row may be
   * affected by it.
   */
  isBarred: boolean
}

export function describePlanted({ table, column, value, circumstance }: Planted): string {
  return `${table}.${column} = ${value.label}${circumstance === '' ? '' : ` (${circumstance})`}`
}

export const kinds = { good: 'good.job', hostile: 'hostile.job', flaky: 'hostile.flaky' } as const
/** A lost worker, and the jobs that it had. */
export const lostWorker = randomUUID()
/** The request whose replies are hostile, and its sender. */
export const replied = {
  actor: 'otto',
  role: 'operator',
  path: '/v1/error-groups/none/reopen',
  body: '{}',
} as const
/** The operation whose jobs are hostile. */
export const operationOfJobs = nextId()
/** The names whose fires, keys, buckets and changes are hostile, by the table of the rows that have these names. */
export const ofParts = {
  schedule: 'fires.of',
  concurrency_limit: 'keys.of',
  rate: 'buckets.of',
  breaker: 'changes.of',
} as const

const dead = { epoch: '1', attempt: '1', max_attempts: '5', crashes: '0', priority: '0', version: '1' }
const settings =
  '{"ids":0,"priority":null,"canary":0,"pace":null,"stopIf":{"sameError":null,"anyFailure":null},"max":100}'
let count = 0

/** Ordinary rows, each with its own key in the first column. */
const usualRows: Readonly<Record<string, () => Row>> = {
  job: () => ({ id: nextId(), queue: 'asleep', kind: kinds.hostile, input: '{}', ...asleep() }),
  dead: () => ({
    id: nextId(),
    created_at: ago(60),
    run_at: ago(60),
    died_at: ago(1),
    queue: 'graves',
    kind: kinds.hostile,
    ...dead,
    input: '{}',
    reason: 'exhausted',
    fingerprint: 'f00df00df00df00d',
    error: '{"class":"error","name":"Error","message":"no"}',
  }),
  finished: () => ({
    id: nextId(),
    created_at: ago(60),
    run_at: ago(60),
    finished_at: ago(0),
    queue: 'history',
    ...dead,
    kind: kinds.hostile,
    state: 'succeeded',
    input: '{}',
    result: '{}',
  }),
  worker: () => ({ id: randomUUID(), lease_until: ago(0) }),
  blob: () => ({ key: `blob-${++count}`, job_id: nextId() }),
  queue: () => ({ name: `set.${++count}`, keep_finished: '1 day', keep_dead: '1 day' }),
  pause: () => ({ queue: `paused.${++count}`, key: 'acme', paused_by: 'ana' }),
  concurrency_limit: () => ({ name: `limit.${++count}`, max: '1' }),
  limit_key: () => ({ name: ofParts.concurrency_limit, key: `key-${++count}`, max: '1' }),
  limit_cover: () => ({ queue: `covered.${++count}`, type: 'concurrency', name: ofParts.concurrency_limit }),
  running_base: () => ({ queue: `runs.${++count}`, version: '1', floor: '0', ids: '{}', keys: '{}' }),
  rate: () => ({ name: `rate.${++count}`, tokens: '1', period_ms: '1000', burst: '1' }),
  rate_bucket: () => ({ name: ofParts.rate, key: `key-${++count}`, seq: '1', tokens: '1', at: ago(0) }),
  breaker: () => ({
    name: `breaker.${++count}`,
    window_ms: '30000',
    share: '0.5',
    least: '20',
    open_ms: '30000',
    most_open_ms: '300000',
    probes: '3',
    counts: '{timeout}',
  }),
  step: () => ({
    job_id: nextId(),
    name: 'usual',
    n: '0',
    seq: '0',
    type: 'step',
    state: 'done',
    epoch: '1',
  }),
  flow: () => ({ id: nextId(), name: `flow.${++count}`, open_nodes: '1' }),
  breaker_count: () => ({
    name: ofParts.breaker,
    slot: ago(++count / 60),
    process: randomUUID(),
    flush: '1',
    ok: '1',
    failed: '1',
  }),
  breaker_change: () => ({ name: ofParts.breaker, was: 'closed', state: 'open' }),
  queue_gauge: () => ({
    queue: `gauge.${++count}`,
    ready: '1',
    running: '1',
    scheduled: '1',
    retrying: '1',
    waiting: '1',
  }),
  schedule: () => ({
    name: `schedule.${++count}`,
    kind: kinds.hostile,
    queue: 'fired',
    source: 'runtime',
    digest: 'd',
    spec: '{"type":"every","everyMs":3600000}',
    job: '{"priority":0,"maxAttempts":5,"version":1}',
    input: '{}',
    starts_at: ago(-60),
    decided_to: ago(0),
    next_fire_at: ago(-60),
  }),
  gauge_refresh: () => ({ id: 'true' }),
  fire: () => ({
    schedule: ofParts.schedule,
    fire_at: ago(60 + ++count),
    outcome: 'fired',
    job_id: nextId(),
    reason: 'usual',
  }),
  audit: () => ({ id: nextId(), actor: 'eve', origin: 'code', action: 'job.cancel', target: nextId() }),
  operation: () => ({
    id: nextId(),
    action: 'cancel',
    filter: 'queue:unserved',
    as_of: ago(0),
    settings,
    job_id: nextId(),
    reason: 'usual',
    actor: 'eve',
    origin: 'code',
    state: 'pending',
  }),
  operation_job: () => ({ id: nextId(), operation_id: operationOfJobs }),
  http_reply: () => ({
    key: `reply-${++count}`,
    scope: `${replied.actor} POST ${replied.path}`,
    status: '200',
    body: '{}',
    digest: `\\x${createHash('sha256').update(replied.body).digest('hex')}`,
    headers: '{"Content-Type":"application/json"}',
    expires_at: ago(-60),
  }),
  error_group: () => ({
    fingerprint: createHash('md5').update(`${++count}`).digest('hex').slice(0, 16),
    kind: kinds.hostile,
    class: 'error',
    name: 'Error',
    title: 'no',
    message: 'no',
    first_seen: ago(60),
    last_seen: ago(0),
    sample_job: nextId(),
  }),
}

/** An ordinary row of a table; for a table that is not listed here, values of the column types. */
export function usualRow(table: string, columns: readonly WritableColumn[]): Row {
  const usual = usualRows[table]?.()
  if (usual !== undefined) return usual
  const required = columns.filter((one) => one.table === table && one.isRequired)
  return Object.fromEntries(required.map(({ column, type }) => [column, usualValue(type)]))
}

const lost = 'worker lost'

/** The states in which workers and people meet a job. */
export const jobCircumstances: Readonly<Record<string, (queue: string) => Row>> = {
  // Not served by a worker: people look at these jobs and remove them, one by one and many at once.
  'one by one': () => ({ ...asleep(), queue: 'asleep.one' }),
  'many at once': () => ({ ...asleep(), queue: 'asleep.many' }),
  ready: (queue) => ({ queue, state: 'ready', run_at: ago(1) }),
  'with a key': (queue) => ({ queue, state: 'ready', run_at: ago(1), key: 'acme' }),
  'fails once': (queue) => ({ queue, state: 'ready', run_at: ago(1), kind: kinds.flaky }),
  due: (queue) => ({ queue, state: 'scheduled', run_at: ago(0.1) }),
  [lost]: (queue) => ({ queue, state: 'ready', run_at: ago(1) }),
}

/** A claim by a lost worker, with the parameters of insertOf(), so that it applies only to rows that can be claimed. */
export function afterwards({ circumstance }: Pick<Planted, 'circumstance'>): string | undefined {
  if (circumstance !== lost) return undefined
  return `update stint.job
             set state = 'running', worker_id = '${lostWorker}', lease_id = id, begun_lease = id, started_at = now(),
                 attempt = attempt + 1, epoch = epoch + 1
           where id = ($1)[1]::uuid and state = 'ready'`
}

/** A schedule that is due now, and again in an hour. */
export function dueSchedule(): Row {
  return { starts_at: ago(0.03), decided_to: ago(0.05), next_fire_at: ago(0.03) }
}

/** Jobs beside the hostile ones of a queue, one for each way in which a worker finds jobs. */
export function neighboursIn(queue: string): { row: Row; circumstance: string }[] {
  const good = { kind: kinds.good, input: '{}' }
  return ['ready', 'with a key', 'due', lost].map((circumstance) => {
    const row = { id: nextId(), ...jobCircumstances[circumstance]?.(queue), ...good, run_at: ago(0) }
    return { row, circumstance }
  })
}

/** Whether a worker of the row's queue should run it. */
export function isServed({ table, circumstance }: Planted): boolean {
  return table === 'job' && isForWorkers(circumstance)
}

function isForWorkers(circumstance: string): boolean {
  return !['', 'one by one', 'many at once'].includes(circumstance)
}

/** The same schedules, due now. */
export function dueSchedules(columns: readonly WritableColumn[]): Planted[] {
  return hostileRows(columns.filter(({ table }) => table === 'schedule')).map((one) => {
    const row = { ...one.row, ...dueSchedule(), [one.column]: one.value.text }
    return { ...one, row, circumstance: 'due' }
  })
}

/** Every hostile value of every writable column, one in each row. */
export function hostileRows(columns: readonly WritableColumn[]): Planted[] {
  let queues = 0
  const edges = new Map<string, number>()
  return columns.filter(isWritable).flatMap(({ table, column, type }) =>
    (hostileValues(type) ?? []).flatMap((value) => {
      const queue = `${column}.${++queues}`
      return circumstancesOf(table, value).map((circumstance) => {
        const row: Row = {
          ...usualRow(table, columns),
          ...(table === 'job' ? jobCircumstances[circumstance]?.(queue) : copyOf(table, circumstance)),
          [column]: value.text,
        }
        if (column === 'id' && type === 'uuid' && value.text !== null) {
          const sharers = ['job', 'dead', 'finished'].includes(table) ? isForWorkers(circumstance) : table
          row['id'] = nextEdge(edges, String(sharers), value.text)
        }
        const id = Object.values(row)[0] ?? ''
        return { table, column, value, circumstance, id, queue, row, isBarred: false }
      })
    }),
  )
}

function circumstancesOf(table: string, { isLarge }: Hostile): string[] {
  const all =
    table === 'job' ? Object.keys(jobCircumstances) : table === 'dead' ? ['one by one', 'many at once'] : ['']
  return isLarge ? all.filter((name) => ['', 'one by one', 'ready'].includes(name)) : all
}

function copyOf(table: string, circumstance: string): Row {
  if (table !== 'dead') return {}
  return { queue: circumstance === 'one by one' ? 'graves.one' : 'graves.many' }
}

/** The id itself, then the ids next to it, because rows that exist at the same time need different ids. */
function nextEdge(used: Map<string, number>, sharers: string, id: string): string {
  const name = `${sharers} ${id}`
  const place = used.get(name) ?? 0
  used.set(name, place + 1)
  const digits = BigInt(`0x${id.replaceAll('-', '')}`)
  const moved = digits + BigInt(id.startsWith('f') ? -place : place)
  return moved
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function asleep(): Row {
  return { state: 'scheduled', run_at: ago(-600) }
}

function ago(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString()
}
