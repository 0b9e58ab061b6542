import { longestTimerMs } from '../core/duration.ts'
import type { Duration } from '../core/duration.ts'
import { schemaOption } from '../core/names.ts'
import { booleanOption, durationOption, integerOption, rejectUnknown } from '../core/options.ts'
import { pgAdapter } from '../db/foreign-tx.ts'
import type { PgTransaction, TxAdapter } from '../db/foreign-tx.ts'
import { resolveBlobs } from '../jobs/new/blob-options.ts'
import type { BlobOptions } from '../jobs/new/blob-options.ts'
import type { JobOptions } from '../jobs/new/enqueue-options.ts'
import { currentJob } from '../node/ambient.ts'
import type { BlobConfig } from '../jobs/new/new-job.ts'
import { isNotifyUsual } from '../jobs/wake-up/notify.ts'

/** Options that a job gets from the surrounding request if the enqueue call does not give them. */
export type AmbientOptions = Pick<JobOptions, 'correlationId' | 'traceparent' | 'tracestate'>

export interface StintOptions<Tx = PgTransaction> {
  /** postgres:// URL. @default DATABASE_URL, else the embedded server when NODE_ENV is not production */
  connection?: string | undefined
  /**
   * For the LISTEN that is open while callers wait for results: directly to the server if `connection` goes through a
   * pooler; false: none, and results are found by polling. @default `connection`
   */
  listenConnection?: string | false | undefined
  /** The Postgres schema of Stint's tables. @default 'stint' */
  schema?: string | undefined
  /** What sends statements on `{ tx }`: one of `stint/drizzle`, `stint/kysely` …. @default the adapter of pg */
  adapter?: TxAdapter<Tx> | undefined
  /** The maximum number of connections; 1 to 1,000. @default 10 */
  poolSize?: number | undefined
  /** How long a call goes on trying through database trouble, from '100ms' up. @default '30s' */
  timeout?: Duration | undefined
  /**
   * How long the server may work on one statement, from '10ms' up; then the server cancels it. For a client that must not
   * put much load on the server. With this option each call is a transaction. @default none
   */
  statementTimeout?: Duration | undefined
  /** How long a statement may wait for a lock, from '1ms' up; then it is tried again. @default none */
  lockTimeout?: Duration | undefined
  /** How long a call may wait for a free connection of the pool, from '10ms' up. @default as long as for a reply */
  poolWait?: Duration | undefined
  blobs?: BlobOptions | undefined
  /** Notify workers in other processes of new jobs at once; if false, they find them at their next poll. @default true, unless STINT_NOTIFY is off */
  notify?: boolean | undefined
  /**
   * Called at every enqueue, for values of the current request (from AsyncLocalStorage, OpenTelemetry).
   * @default inside a handler, its job's correlation id and trace context
   */
  ambient?: (() => AmbientOptions | undefined) | undefined
}

export interface StintConfig<Tx> {
  readonly connection: string | undefined
  readonly listenConnection: string | false | undefined
  readonly schema: string
  readonly adapter: TxAdapter<Tx>
  readonly poolSize: number
  readonly timeoutMs: number
  readonly statementTimeoutMs: number | undefined
  readonly lockTimeoutMs: number | undefined
  readonly poolWaitMs: number | undefined
  readonly blobs: BlobConfig | undefined
  readonly notify: boolean
  readonly ambient: () => AmbientOptions | undefined
}

const known = [
  ...[
    'connection',
    'listenConnection',
    'schema',
    'adapter',
    'poolSize',
    'timeout',
    'statementTimeout',
    'lockTimeout',
    'poolWait',
  ],
  ...['blobs', 'notify', 'ambient'],
]

export function resolveStintOptions<Tx>({
  connection,
  listenConnection,
  schema = 'stint',
  adapter = pgAdapter as unknown as TxAdapter<Tx>,
  poolSize = 10,
  timeout = '30s',
  statementTimeout,
  lockTimeout,
  poolWait,
  blobs,
  notify = isNotifyUsual(process.env),
  ambient = ambientOfJob,
  ...rest
}: StintOptions<Tx> = {}): StintConfig<Tx> {
  rejectUnknown('new Stint()', rest, known)
  return Object.freeze({
    connection,
    listenConnection,
    schema: schemaOption(schema),
    adapter,
    poolSize: integerOption('poolSize', poolSize, { min: 1, max: 1_000 }),
    timeoutMs: durationOption('timeout', timeout, { minMs: 100 }),
    statementTimeoutMs: optional(statementTimeout, (value) =>
      durationOption('statementTimeout', value, { minMs: 10, maxMs: longestTimerMs }),
    ),
    lockTimeoutMs: optional(lockTimeout, (value) =>
      durationOption('lockTimeout', value, { minMs: 1, maxMs: longestTimerMs }),
    ),
    poolWaitMs: optional(poolWait, (value) =>
      durationOption('poolWait', value, { minMs: 10, maxMs: longestTimerMs }),
    ),
    blobs: blobs === undefined ? undefined : resolveBlobs(blobs),
    notify: booleanOption('notify', notify),
    ambient,
  })
}

function optional<Value, Result>(
  value: Value | undefined,
  read: (value: Value) => Result,
): Result | undefined {
  return value === undefined ? undefined : read(value)
}

/** A job that is enqueued inside a handler gets the correlation id and trace context of the handler's job. */
function ambientOfJob(): AmbientOptions | undefined {
  const job = currentJob()
  if (job === undefined) return undefined
  const { correlationId, traceparent, tracestate } = job
  return { correlationId, traceparent, tracestate }
}

/** The options of a client, but for its adapter: another client of the same database takes them. */
export function optionsOf({
  connection,
  listenConnection,
  schema,
  poolSize,
  timeoutMs,
  blobs,
  notify,
  ambient,
  ...limits
}: StintConfig<never>): Omit<StintOptions<never>, 'adapter'> {
  return {
    connection,
    listenConnection,
    schema,
    poolSize,
    timeout: timeoutMs,
    blobs,
    notify,
    ambient,
    statementTimeout: limits.statementTimeoutMs,
    lockTimeout: limits.lockTimeoutMs,
    poolWait: limits.poolWaitMs,
  }
}
