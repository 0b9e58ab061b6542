import type { Client } from 'pg'

/** One way to run a system. Options that a system does not name, it does not have. */
export interface Tuning {
  /** Size of its connection pool. */
  connections?: number
  /** Jobs per bulk call; more than there are means all at once. */
  chunk?: number
  /** Bulk calls under way at the same time. */
  inFlight?: number
  /** Call its documented SQL function instead of the method around it. */
  viaSql?: boolean
  /** ioredis sends the commands of one turn of the event loop as one pipeline. */
  autoPipelining?: boolean
  /** Jobs that a worker fetches at once. */
  batch?: number
  /** Loops in one worker process that fetch independently of each other. */
  pollers?: number
  /** Jobs that a worker process may hold in memory ahead of running them. */
  localQueue?: number
  /** How long a worker gathers finished jobs before it writes them to the database, in ms; absent means one by one. */
  settleAfterMs?: number
  /** Workers are woken by NOTIFY. */
  notify?: boolean
}

export interface Input {
  n: number
}

/** A system under test as the parent process knows it. Describing one loads none of its code. */
export interface System {
  name: string
  version: string
  store: 'postgres' | 'redis'
  /** What is set and why, for the report. */
  settings: { enqueue: string; work: string }
  /** The tunings to try for each kind of work: a full run tries all and keeps the fastest, --quick takes the first. */
  tunings: {
    single: readonly Tuning[]
    bulk: readonly Tuning[]
    /** For a worker that should get through many jobs. */
    drain: readonly Tuning[]
    /** For a worker and its producer that should start each job soon. */
    latency: readonly Tuning[]
  }
  /** Whether it has an API to enqueue inside the caller's transaction. */
  hasInTx: boolean
  /** Why it cannot run here, if it cannot. */
  missing?: string | undefined
  /** Why it cannot run jobs here, though it can enqueue. */
  missingWorker?: string | undefined
  /** In the measuring process: migrates if need be, connects, and is ready to enqueue. */
  setup(url: string, tuning: Tuning): Promise<Session>
  /**
   * In a worker process, on a store that a session has set up: loads and connects as far as possible without claiming.
   */
  prepareWorker(url: string, tuning: Tuning, work: Work): Promise<PreparedWorker>
}

export interface Work {
  concurrency: number
  /**
   * Schedules of every second, evenly spread over it, whose jobs carry their time in ms as `n`; where the system has
   * such.
   */
  schedules?: number | undefined
  /** How many jobs of one key may run at once, in all processes; absent: no limit. For a system with such limits. */
  keyLimit?: number | undefined
  /** How long each job takes; absent: the handler returns at once. Only Stint is asked for it. */
  jobMs?: number | undefined
  /** The handler: called with the `n` of each job that starts. It only records. */
  run: (n: number) => void
}

export interface PreparedWorker {
  /** From here on the worker claims. */
  start(): Promise<unknown>
  /** Lets running jobs finish and settle. */
  stop(): Promise<unknown>
}

/** A token bucket: so many tokens a second, and so many at once after a quiet time. */
export interface Rate {
  name: string
  perSecond: number
  burst: number
}

/** A system that is connected and may enqueue. */
export interface Session {
  enqueueOne(input: Input): Promise<unknown>
  enqueueBulk(inputs: readonly Input[]): Promise<unknown>
  /** As enqueueBulk, job n with key n modulo `keys`; absent where a system has no keys, or none that it is measured with. */
  enqueueKeyed?(inputs: readonly Input[], keys: number): Promise<unknown>
  /** Stores a limit by key as one that was set long ago; absent where only the workers know of it. */
  limitKeys?(max: number): Promise<unknown>
  /** Stores a rule that the queue holds at most so many waiting jobs; absent where a system has none that it is measured with. */
  limitDepth?(maxDepth: number): Promise<unknown>
  /** Stores a token bucket of this name; absent where a system has none that it is measured with. */
  storeRate?(rate: Rate): Promise<unknown>
  /** Waits for one token of a bucket. */
  takeToken?(name: string): Promise<unknown>
  /** Pauses the queue; absent where a system has no pause, or none that it is measured with. */
  pause?(): Promise<unknown>
  enqueueInTx?(client: Client, input: Input): Promise<unknown>
  /** Jobs in its store, read from the store and not from the library. */
  count(): Promise<number>
  /** Those of them that have not ended: waiting, running or failed. */
  unfinished(): Promise<number>
  /** Those that succeeded and were kept; absent where none are. */
  finished?(): Promise<number>
  teardown(): Promise<void>
}

/** The chunkings that every system gets to try. */
export const bulkTunings: readonly Tuning[] = [
  { chunk: 1_000, inFlight: 4 },
  { chunk: 1_000, inFlight: 1 },
  { chunk: 5_000, inFlight: 1 },
  { chunk: 10_000, inFlight: 1 },
  { chunk: 5_000, inFlight: 4 },
  { chunk: 10_000, inFlight: 4 },
  { chunk: Number.MAX_SAFE_INTEGER, inFlight: 1 },
]

/** Twenty callers can use twenty connections, but where commits queue on a lock fewer may do better. */
export const poolTunings: readonly Tuning[] = [{ connections: 20 }, { connections: 10 }, { connections: 5 }]

export function describeTuning(tuning: Tuning): string {
  const { connections, chunk, inFlight, viaSql, autoPipelining } = tuning
  const { batch, pollers, localQueue, settleAfterMs, notify } = tuning
  const parts: string[] = []
  if (connections !== undefined) parts.push(`pool ${connections}`)
  if (chunk !== undefined)
    parts.push(chunk === Number.MAX_SAFE_INTEGER ? 'all at once' : `chunks of ${chunk}`)
  if (inFlight !== undefined && inFlight > 1) parts.push(`${inFlight} in flight`)
  if (viaSql) parts.push('via SQL')
  if (autoPipelining !== undefined) parts.push(`autopipelining ${autoPipelining ? 'on' : 'off'}`)
  if (batch !== undefined) parts.push(`batches of ${batch}`)
  if (pollers !== undefined && pollers > 1) parts.push(`${pollers} pollers`)
  if (localQueue !== undefined) parts.push(`local queue of ${localQueue}`)
  if (settleAfterMs !== undefined) parts.push(`settling after ${settleAfterMs} ms`)
  if (notify !== undefined) parts.push(`notify ${notify ? 'on' : 'off'}`)
  return parts.join(', ') || 'default'
}
