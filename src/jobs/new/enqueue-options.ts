import { priorityOption, resolveUnique } from '../../contracts/define-job.ts'
import { attemptsOption } from '../../contracts/retry.ts'
import type { JobContract, SearchTokens, UniqueOptions } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import type { ClassRule } from '../../core/failures/retry-policy.ts'
import { boundedText, nameOption } from '../../core/names.ts'
import { durationOption, integerOption, invalidOption, longestMs, rejectUnknown } from '../../core/options.ts'

/** Options of a single job; an option that is left out is as in the contract. */
export interface JobOptions {
  /** Not before this time: a Date or ISO 8601 text, from now to ten years ahead. */
  runAt?: Date | string | undefined
  /** Not before this long from now, counted on the database's clock. */
  delay?: Duration | undefined
  /** -100 to 100, higher runs sooner. */
  priority?: number | undefined
  queue?: string | undefined
  /** The tenant or entity the job belongs to; at most 512 bytes. */
  key?: string | undefined
  /** Attempts in all, 1 to 1,000. */
  attempts?: number | undefined
  /** How long one attempt may take. */
  timeout?: Duration | undefined
  /** The job must not start after this: a time, or this long after it is due. */
  deadline?: Duration | Date | undefined
  /** The same for all jobs, logs and traces that belong together; at most 256 bytes. @default the job's own id */
  correlationId?: string | undefined
  /** W3C trace context. */
  traceparent?: string | undefined
  tracestate?: string | undefined
  /** As in the contract, with a `key` of your own; `false` switches the contract's uniqueness off. */
  unique?: (UniqueOptions & { key?: string | undefined }) | false | undefined
  /**
   * A repeat with the same key and the same input returns the first job; with another input it is an error. Counts per
   * queue and kind; at most 512 bytes.
   */
  idempotencyKey?: string | undefined
  /** How long an idempotency key is remembered, even after its job has ended. @default '24h' */
  idempotencyFor?: Duration | undefined
  /** Search words besides those of the contract. */
  search?: SearchTokens | undefined
}

/** For our own callers that act for other users: keeps the idempotency keys of those users apart. */
export interface ScopedJobOptions extends JobOptions {
  idempotencyScope?: string | undefined
}

const known = [
  ...[
    'runAt',
    'delay',
    'priority',
    'queue',
    'key',
    'attempts',
    'timeout',
    'deadline',
    'correlationId',
    'traceparent',
  ],
  ...['tracestate', 'unique', 'idempotencyKey', 'idempotencyFor', 'search', 'tx'],
]

/** The members of a job, in the names that enqueue.sql and stint.enqueue_one() read. */
export interface Members {
  queue: string
  kind: string
  version: number
  priority: number
  maxAttempts: number
  key?: string | undefined
  runAt?: string | undefined
  delayMs?: number | undefined
  deadlineAt?: string | undefined
  deadlineMs?: number | undefined
  correlationId?: string | undefined
  traceparent?: string | undefined
  tracestate?: string | undefined
  parentId?: string | undefined
  flowId?: string | undefined
  tokens?: readonly string[] | undefined
  options?:
    | {
        timeoutMs?: number | undefined
        crashLimit?: number | undefined
        fireAt?: string | undefined
        cost?: number | undefined
        ordered?: 'hold' | 'pass' | undefined
        references?: true | undefined
      }
    | undefined
}

/** What the caller of an enqueue cannot set: an edited dead letter passes its own on. */
export type Lineage = Pick<Members, 'parentId' | 'flowId'> & {
  fireAt?: string | undefined
  /** The input names outputs of other jobs of its flow. */
  references?: true | undefined
}

/** What has to be decided before the job can be stored. */
export interface Deciding {
  unique?:
    | {
        key: string | undefined
        until: UniqueOptions['until']
        forMs: number | undefined
        onConflict: string
      }
    | undefined
  idempotencyKey?: string | undefined
  idempotencyScope?: string | undefined
  idempotencyForMs?: number | undefined
}

/** Checks the caller's options and combines them with what the contract says about this input. */
export function resolveJob<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  parsed: Parsed,
  options: ScopedJobOptions,
): { members: Members; deciding: Deciding } {
  const { runAt, delay, priority, queue, key, attempts, timeout, deadline, correlationId, ...more } = options
  const { traceparent, tracestate, unique, search, idempotencyKey, idempotencyScope, ...late } = more
  const { idempotencyFor, ...rest } = late
  rejectUnknown('enqueue', rest, known)
  if (runAt !== undefined && delay !== undefined)
    throw invalidOption('runAt', 'left out when `delay` is given', runAt)
  if (contract.ordered !== undefined) refuseWithOrder({ runAt, delay, priority, queue })
  const due = runAt === undefined ? undefined : timeOption('runAt', runAt)
  const members: Members = {
    queue: queue === undefined ? contract.queue : nameOption('queue', queue),
    kind: contract.kind,
    version: contract.version,
    priority: priority === undefined ? contract.priority : priorityOption(priority),
    maxAttempts: attempts === undefined ? contract.retry.attempts : attemptsOption('attempts', attempts),
    key: keyText('key', key ?? contract.keyOf?.(parsed), 512),
    runAt: due,
    delayMs: delay === undefined ? undefined : durationOption('delay', delay),
    ...resolveDeadline(deadline, contract.deadlineMs, due),
    correlationId: keyText('correlationId', correlationId, 256),
    traceparent: traceparent === undefined ? undefined : traceparentOption(traceparent),
    tracestate: keyText('tracestate', tracestate, 512),
    tokens: searchTokens({ ...contract.searchOf?.(parsed), ...search }),
    options: storedOptions(contract, timeout, costOf(contract, parsed)),
  }
  const deciding: Deciding = {
    unique: unique === false ? undefined : uniqueOf(contract, parsed, unique),
    idempotencyKey: keyText('idempotencyKey', idempotencyKey, 512),
    idempotencyScope:
      idempotencyKey === undefined ? undefined : keyText('idempotencyScope', idempotencyScope, 1_024),
    idempotencyForMs:
      idempotencyFor === undefined
        ? undefined
        : durationOption('idempotencyFor', idempotencyFor, { minMs: 1 }),
  }
  return { members, deciding }
}

/** Options that are stored with the job, for processes that do not have its contract: sweepers know no kinds. */
function storedOptions(
  { retry, ordered }: Pick<JobContract, 'retry' | 'ordered'>,
  timeout: JobOptions['timeout'],
  cost: number | undefined,
): Members['options'] {
  const crashLimit = crashLimitOf(retry.rules.crash)
  if (timeout === undefined && crashLimit === undefined && cost === undefined && ordered === undefined)
    return undefined
  return {
    timeoutMs: timeout === undefined ? undefined : durationOption('timeout', timeout, { minMs: 1 }),
    crashLimit,
    cost,
    ordered,
  }
}

/** The tokens that a job takes of its rates; undefined stands for 1. */
function costOf<Parsed>(contract: JobContract<string, unknown, Parsed>, parsed: Parsed): number | undefined {
  const cost = contract.costOf?.(parsed)
  if (cost === undefined) return undefined
  const checked = integerOption('cost', cost, costRange)
  return checked === 1 ? undefined : checked
}

const costRange = { min: 1, max: 999_999_999 }

/** Jobs that start in order have no time, priority or queue of their own. */
function refuseWithOrder(options: Pick<JobOptions, 'runAt' | 'delay' | 'priority' | 'queue'>): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined)
      throw invalidOption(name, "left out, because the contract's `order` is 'key'", value)
}

/** Crashes after which a job is put aside; undefined if the worker's setting decides. */
function crashLimitOf({ action, attempts }: ClassRule): number | undefined {
  return action === 'dead' ? 1 : attempts
}

/** The unique key that a contract derives from an input, if it has a rule of its own. */
export function contractUniqueKey<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  parsed: Parsed,
): string | undefined {
  return keyText('unique.by', contract.uniqueBy?.(parsed), 512)
}

function uniqueOf<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  parsed: Parsed,
  option: Exclude<JobOptions['unique'], false>,
): Deciding['unique'] {
  if (option === undefined && contract.unique === undefined) return undefined
  const { key, ...overrides } = option ?? {}
  const { until, forMs, onConflict } = contract.unique ?? {}
  const hasSpan = overrides.until !== undefined || overrides.for !== undefined
  const span = hasSpan ? { until: overrides.until, for: overrides.for } : { until, for: forMs }
  const rule = resolveUnique({ ...overrides, onConflict: overrides.onConflict ?? onConflict, ...span }, 'key')
  return { key: keyText('unique.key', key, 512) ?? contractUniqueKey(contract, parsed), ...rule }
}

function resolveDeadline(
  deadline: JobOptions['deadline'],
  contractMs: number | undefined,
  runAt: string | undefined,
): Pick<Members, 'deadlineAt' | 'deadlineMs'> {
  if (deadline instanceof Date) {
    const deadlineAt = timeOption('deadline', deadline)
    if (runAt !== undefined && deadlineAt < runAt)
      throw invalidOption('deadline', 'later than `runAt`', deadline)
    return { deadlineAt }
  }
  return {
    deadlineMs: deadline === undefined ? contractMs : durationOption('deadline', deadline, { minMs: 1 }),
  }
}

/** A minute of grace: clocks differ, and a time that was "now" when it was computed is meant as now. */
const pastGraceMs = 60_000

export function timeOption(name: string, value: unknown): string {
  const isText = typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value)
  const time = value instanceof Date ? value.getTime() : isText ? Date.parse(value) : Number.NaN
  const now = Date.now()
  if (time >= now - pastGraceMs && time <= now + longestMs) return new Date(time).toISOString()
  throw invalidOption(
    name,
    "a Date or ISO 8601 text with a zone ('2030-01-31T09:00:00Z'), not in the past and at most 10 years ahead",
    value,
  )
}

export function keyText(name: string, value: unknown, maxBytes: number): string | undefined {
  if (value === undefined || boundedText(value, maxBytes)) return value
  throw invalidOption(
    name,
    `a string of 1 to ${maxBytes} bytes that Postgres can store (no NUL, no half surrogate pair)`,
    value,
  )
}

function traceparentOption(value: unknown): string {
  if (typeof value === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value))
    return value
  throw invalidOption(
    'traceparent',
    "a W3C traceparent such as '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'",
    value,
  )
}

/** `{ country: 'BR' }` → `['country:BR']` */
export function searchTokens(search: SearchTokens): string[] | undefined {
  const tokens = Object.entries(search).filter(([, value]) => value !== undefined && value !== null)
  if (tokens.length === 0) return undefined
  if (tokens.length > 8) throw invalidOption('search', 'at most 8 names', Object.keys(search))
  return tokens.map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
      throw invalidOption('search', 'an object whose names are 1 to 64 letters, digits and _', name)
    }
    const text =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? String(value)
        : value
    if (!boundedText(text, 256))
      throw invalidOption(`search.${name}`, 'a string, number or boolean of 1 to 256 bytes', value)
    return `${name}:${text}`
  })
}
