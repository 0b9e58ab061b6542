import type { Duration } from '../core/duration.ts'
import { boundedText, nameOption, schemaOption } from '../core/names.ts'
import {
  booleanOption,
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../core/options.ts'
import { peek } from '../core/failures/thrown.ts'
import { priorityRange } from '../core/priority.ts'
import { resolveBlobs } from '../jobs/new/blob-options.ts'
import type { BlobOptions } from '../jobs/new/blob-options.ts'
import type { BlobConfig } from '../jobs/new/new-job.ts'
import { isNotifyUsual } from '../jobs/wake-up/notify.ts'
import { resolveApprovals } from '../node/approval/options.ts'
import type { ApprovalsConfig, ApprovalsOptions } from '../node/approval/options.ts'
import { flowOption } from '../limits/rules/rule.ts'
import type { FlowRule } from '../limits/rules/rule.ts'
import { resolveChildren } from './isolate/isolate-options.ts'
import type { ChildrenConfig, ChildrenOptions } from './isolate/isolate-options.ts'
import { asSchedule } from '../schedules/rules/define-schedule.ts'
import type { Schedule } from '../schedules/rules/define-schedule.ts'
import type { Logger } from './report/log.ts'
import { resolveWebhooks, withWebhookQueue } from './webhooks.ts'
import type { WebhooksConfig, WebhooksOptions } from './webhooks.ts'

export interface QueueOptions {
  /** Jobs of this queue that this worker runs at once; 1 to 10,000. @default 10 */
  concurrency?: number | undefined
  /**
   * Jobs held ready beyond those that run, at most; 0 to 20,000. The worker prefetches about 100 ms of work and no
   * more, so slow jobs are not hoarded. With 0 a slot is also held until its job's ending is stored. @default 2000
   */
  prefetch?: number | undefined
  /** Its share of the worker's slots when several queues have work and `concurrency` is short; 1 to 1,000. @default 1 */
  weight?: number | undefined
  /**
   * The weight of a key among the keys of this queue, 1 to 1,000: a key of weight 3 gets three times the slots of a key of
   * weight 1 while both have jobs. A function that throws, or returns something else, counts as 1. @default 1 for every key
   */
  keyWeight?: ((key: string) => number) | undefined
  /** How often to poll for its work when no notification comes; from '50ms' up. @default the worker's */
  pollFloor?: Duration | undefined
  /** A lower priority whose oldest ready job has waited this long is served first. @default '10m' */
  agingAfter?: Duration | undefined
  /** Slots of this queue, fewer than its `concurrency`, that only jobs of this priority and above may take. @default none */
  reserve?: { slots: number; priority: number } | undefined
}

export interface WorkerOptions {
  /** postgres:// URL. @default DATABASE_URL, else the embedded server when NODE_ENV is not production */
  connection?: string | undefined
  /** For LISTEN, directly to the server if `connection` goes through a pooler. @default `connection` */
  listenConnection?: string | undefined
  /** The Postgres schema that Stint lives in. @default 'stint' */
  schema?: string | undefined
  /** Which queues to serve, with their options or just their concurrency. @default { default: 10 } */
  queues?: Readonly<Record<string, QueueOptions | number>> | undefined
  /** Jobs of all queues together that this worker runs at once. @default the sum of the queues' */
  concurrency?: number | undefined
  /** How queues share those slots: by `weight`, or `strict`: in the order they are listed. @default 'weighted' */
  order?: 'weighted' | 'strict' | undefined
  /** How long jobs stay with this worker without a heartbeat; from '1s' up. @default '30s' */
  lease?: Duration | undefined
  /** How long running jobs may go on after a stop was asked for. @default '25s' */
  drain?: Duration | undefined
  /**
   * How long start() waits for a database that cannot be reached, with /readyz saying why; 0: it does not wait.
   * @default '5m'
   */
  waitForDatabase?: Duration | undefined
  /** For queues that do not set it: how often to poll for work when no notification comes. @default '1s' */
  pollFloor?: Duration | undefined
  /** How often to look for jobs of lost workers, and to check that our jobs are still ours. @default '5s' */
  sweepEvery?: Duration | undefined
  /** Lost workers after which a job is put aside as a dead letter; 1 to 100. @default 3 */
  crashLimit?: number | undefined
  /** What to do about handlers that do not end when they are told to. */
  stuck?: StuckOptions | undefined
  /** Processes and threads for handlers that are isolated: `handle(contract, handler, { isolate })`. */
  children?: ChildrenOptions | undefined
  /**
   * Listen for notifications of producers. Without them, polling finds all jobs. @default true, unless STINT_NOTIFY is
   * off
   */
  notify?: boolean | undefined
  /** Connections for claiming and settling; 2 to 50. @default 4 */
  poolSize?: number | undefined
  /** Connections for `ctx.tx` and `ctx.once`; 1 to 1,000. @default 10 */
  txPoolSize?: number | undefined
  blobs?: BlobOptions | undefined
  /**
   * Whether this process may do the upkeep for all: partitions, retention. One of the processes that may does it.
   * @default true
   */
  upkeep?: boolean | undefined
  /** Schedules in your code, made by defineSchedule(): stored in the database as they are here. See also schedule(). */
  schedules?: readonly Schedule[] | undefined
  /**
   * Limits, rates, breakers and queues in your code, made by defineLimit(), defineRate(), defineBreaker() and defineQueue():
   * stored in the database as they are here.
   */
  flow?: readonly FlowRule[] | undefined
  /** Sends webhooks, the jobs of kind `stint.webhook`, and serves their queue. @default sends none */
  webhooks?: WebhooksOptions | undefined
  /** The address and the keys of the links of ctx.approval(). */
  approvals?: ApprovalsOptions | undefined
  /** Serves /healthz and /readyz here; `host` is '0.0.0.0' if probes come from outside. @default host '127.0.0.1' */
  health?: { port: number; host?: string | undefined } | undefined
  /** The version of your app, shown beside the worker. @default the environment variable STINT_APP_VERSION */
  version?: string | undefined
  /** A pino logger (or one like it) of yours; false for silence. @default pino on standard output, level STINT_LOG_LEVEL or info */
  log?: Logger | false | undefined
}

export interface StuckOptions {
  /**
   * How long a handler has to end after its signal was aborted, by its timeout or a cancellation. Then its attempt is
   * over, its slot counts as stuck, and a replacement slot opens. @default '10s'
   */
  grace?: Duration | undefined
  /**
   * How long a slot may stay stuck before the worker finishes its other jobs and gives up, so that its process is
   * started again; false: never. @default '1m'
   */
  recycle?: Duration | false | undefined
  /** Replacements for stuck slots, at most; 0 to 10,000. @default the worker's concurrency */
  replacements?: number | undefined
}

export interface StuckConfig {
  readonly graceMs: number
  /** Infinity: never. */
  readonly recycleMs: number
  readonly replacements: number
}

export interface QueueConfig {
  readonly name: string
  readonly concurrency: number
  readonly prefetch: number
  readonly weight: number
  readonly keyWeight: (key: string) => number
  readonly agingAfterMs: number
  readonly pollFloorMs: number
  readonly reserve?: { readonly slots: number; readonly priority: number } | undefined
}

export interface WorkerConfig {
  readonly connection: string | undefined
  readonly listenConnection: string | undefined
  readonly schema: string
  readonly queues: readonly QueueConfig[]
  readonly concurrency: number
  readonly order: 'weighted' | 'strict'
  readonly leaseMs: number
  readonly drainMs: number
  readonly waitForDatabaseMs: number
  readonly pollFloorMs: number
  readonly sweepEveryMs: number
  readonly crashLimit: number
  readonly stuck: StuckConfig
  readonly children: ChildrenConfig
  readonly notify: boolean
  readonly poolSize: number
  readonly txPoolSize: number
  readonly blobs: BlobConfig | undefined
  readonly upkeep: boolean
  readonly schedules: readonly Schedule[]
  readonly flow: readonly FlowRule[]
  readonly webhooks: WebhooksConfig | undefined
  readonly approvals: ApprovalsConfig
  readonly health: { readonly port: number; readonly host: string } | undefined
  readonly version: string | null
  readonly log: Logger | false | undefined
}

const known = [
  ...['connection', 'listenConnection', 'schema', 'queues', 'concurrency', 'order', 'lease', 'drain'],
  ...['waitForDatabase', 'pollFloor', 'sweepEvery', 'crashLimit', 'stuck', 'children', 'notify', 'poolSize'],
  ...[
    'txPoolSize',
    'blobs',
    'upkeep',
    'schedules',
    'flow',
    'webhooks',
    'approvals',
    'health',
    'version',
    'log',
  ],
]

export function resolveWorkerOptions(options: WorkerOptions = {}): WorkerConfig {
  const {
    connection,
    listenConnection,
    schema = 'stint',
    queues = { default: 10 },
    concurrency,
    ...more
  } = options
  const {
    order = 'weighted',
    lease = '30s',
    drain = '25s',
    waitForDatabase = '5m',
    pollFloor = '1s',
    sweepEvery = '5s',
    ...others
  } = more
  const {
    crashLimit = 3,
    stuck = {},
    children = {},
    notify = isNotifyUsual(process.env),
    poolSize = 4,
    txPoolSize = 10,
    blobs,
    upkeep = true,
    schedules = [],
    flow = [],
    webhooks,
    approvals,
    health,
    version,
    log,
    ...rest
  } = others
  rejectUnknown('new Worker()', rest, known)
  const resolved = resolveQueues(webhooks === undefined ? queues : withWebhookQueue(queues), pollFloor)
  const slots =
    concurrency === undefined
      ? resolved.reduce((sum, queue) => sum + queue.concurrency, 0)
      : integerOption('concurrency', concurrency, { min: 1, max: 100_000 })
  return Object.freeze({
    connection,
    listenConnection,
    schema: schemaOption(schema),
    queues: resolved,
    concurrency: slots,
    order: oneOfOption('order', order, ['weighted', 'strict']),
    leaseMs: durationOption('lease', lease, { minMs: 1_000, maxMs: 3_600_000 }),
    drainMs: durationOption('drain', drain),
    waitForDatabaseMs: durationOption('waitForDatabase', waitForDatabase),
    pollFloorMs: Math.min(...resolved.map((queue) => queue.pollFloorMs)),
    sweepEveryMs: durationOption('sweepEvery', sweepEvery, { minMs: 50 }),
    crashLimit: integerOption('crashLimit', crashLimit, { min: 1, max: 100 }),
    stuck: resolveStuck(stuck, slots),
    children: resolveChildren(children, slots),
    notify: booleanOption('notify', notify),
    poolSize: integerOption('poolSize', poolSize, { min: 2, max: 50 }),
    txPoolSize: integerOption('txPoolSize', txPoolSize, { min: 1, max: 1_000 }),
    blobs: blobs === undefined ? undefined : resolveBlobs(blobs),
    upkeep: booleanOption('upkeep', upkeep),
    schedules: schedules.map(asSchedule),
    flow: flowOption(flow),
    webhooks: resolveWebhooks(webhooks),
    approvals: resolveApprovals(approvals, process.env),
    health: health === undefined ? undefined : resolveHealth(health),
    version: versionOption(version ?? process.env['STINT_APP_VERSION'] ?? null),
    log: logOption(log),
  })
}

function resolveQueues(queues: unknown, pollFloor: Duration): QueueConfig[] {
  const pollFloorMs = durationOption('pollFloor', pollFloor, { minMs: 50 })
  if (
    typeof queues !== 'object' ||
    queues === null ||
    Array.isArray(queues) ||
    Object.keys(queues).length === 0
  )
    throw invalidOption('queues', 'an object with at least one queue, such as { media: 4 }', queues)
  return Object.entries(queues as Record<string, QueueOptions | number | null | undefined>).map(
    ([name, options]) =>
      resolveQueue(
        nameOption('queues', name),
        typeof options === 'object' ? options : { concurrency: options },
        pollFloorMs,
      ),
  )
}

function resolveQueue(name: string, options: QueueOptions | null, workerPollFloorMs: number): QueueConfig {
  if (options === null) throw invalidOption(`queues.${name}`, 'its options or its concurrency', options)
  const {
    concurrency = 10,
    prefetch = 2_000,
    weight = 1,
    keyWeight,
    agingAfter = '10m',
    pollFloor,
    reserve,
    ...rest
  } = options
  const path = `queues.${name}`
  rejectUnknown(
    `queue '${name}'`,
    rest,
    ['concurrency', 'prefetch', 'weight', 'keyWeight', 'agingAfter', 'pollFloor', 'reserve'],
    `${path}.`,
  )
  return Object.freeze({
    name,
    concurrency: integerOption(`${path}.concurrency`, concurrency, { min: 1, max: 10_000 }),
    prefetch: integerOption(`${path}.prefetch`, prefetch, { min: 0, max: 20_000 }),
    weight: integerOption(`${path}.weight`, weight, { min: 1, max: 1_000 }),
    keyWeight: keyWeightOption(`${path}.keyWeight`, keyWeight),
    agingAfterMs: durationOption(`${path}.agingAfter`, agingAfter, { minMs: 1 }),
    pollFloorMs:
      pollFloor === undefined
        ? workerPollFloorMs
        : durationOption(`${path}.pollFloor`, pollFloor, { minMs: 50 }),
    reserve: reserve === undefined ? undefined : resolveReserve(`${path}.reserve`, reserve, concurrency),
  })
}

function resolveReserve(
  path: string,
  reserve: { slots: number; priority: number },
  concurrency: number,
): { slots: number; priority: number } {
  if (!isObject(reserve)) throw invalidOption(path, 'an object such as { slots: 2, priority: 50 }', reserve)
  const { slots, priority, ...rest } = reserve
  rejectUnknown(path, rest, ['slots', 'priority'], `${path}.`)
  integerOption(`${path}.slots`, slots, { min: 1 })
  if (slots >= concurrency)
    throw invalidOption(`${path}.slots`, `less than the queue's concurrency, ${concurrency}`, slots)
  return Object.freeze({ slots, priority: integerOption(`${path}.priority`, priority, priorityRange) })
}

const keyWeightRange = { min: 1, max: 1_000 }

/** A weight that a queue's function could not give is 1: a mistake there must not stop the queue. */
function keyWeightOption(path: string, keyWeight: unknown): (key: string) => number {
  if (keyWeight === undefined) return () => 1
  if (typeof keyWeight !== 'function') throw invalidOption(path, 'a function of a key', keyWeight)
  const weightOf = keyWeight as (key: string) => unknown
  return (key) => {
    try {
      return integerOption(path, weightOf(key), keyWeightRange)
    } catch {
      return 1
    }
  }
}

function resolveStuck(stuck: StuckOptions, slots: number): StuckConfig {
  if (!isObject(stuck)) throw invalidOption('stuck', "an object such as { grace: '10s' }", stuck)
  const { grace = '10s', recycle = '1m', replacements = Math.min(slots, 10_000), ...rest } = stuck
  rejectUnknown('stuck', rest, ['grace', 'recycle', 'replacements'], 'stuck.')
  return Object.freeze({
    graceMs: durationOption('stuck.grace', grace),
    recycleMs: recycle === false ? Infinity : durationOption('stuck.recycle', recycle),
    replacements: integerOption('stuck.replacements', replacements, { min: 0, max: 10_000 }),
  })
}

function resolveHealth(health: { port: number; host?: string | undefined }): { port: number; host: string } {
  if (!isObject(health)) throw invalidOption('health', 'an object such as { port: 8080 }', health)
  const { port, host = '127.0.0.1', ...rest } = health
  rejectUnknown('health', rest, ['port', 'host'], 'health.')
  return Object.freeze({ port: integerOption('health.port', port, { min: 0, max: 65_535 }), host })
}

/** For callers without types. */
function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function versionOption(version: unknown): string | null {
  if (version === null || boundedText(version, 256)) return version
  throw invalidOption('version', 'a string of 1 to 256 bytes', version)
}

function logOption(log: WorkerOptions['log']): WorkerOptions['log'] {
  if (log === undefined || log === false) return log
  const isLogger = (['debug', 'info', 'warn', 'error'] as const).every(
    (level) => typeof peek(log, level) === 'function',
  )
  if (isLogger) return log
  throw invalidOption('log', 'a logger with debug(), info(), warn() and error(), or false', log)
}
