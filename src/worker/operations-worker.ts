import { setTimeout as pause } from 'node:timers/promises'
import { schemaOption } from '../core/names.ts'
import { rejectUnknown } from '../core/options.ts'
import { connect } from '../db/connect.ts'
import { Database } from '../db/database.ts'
import type { Acted } from '../operations/execute/act.ts'
import { operationJob, operationQueue } from '../operations/contract.ts'
import { executeOperation } from '../operations/execute/execute.ts'
import { Announcer } from '../jobs/wake-up/announcer.ts'
import { databaseKey } from '../jobs/wake-up/local.ts'
import { isNotifyUsual } from '../jobs/wake-up/notify.ts'
import type { Logger } from './report/log.ts'
import { Worker } from './worker.ts'

export interface OperationsWorkerOptions {
  /** postgres:// URL. @default DATABASE_URL, else the embedded server when NODE_ENV is not production */
  connection?: string | undefined
  /** @default 'stint' */
  schema?: string | undefined
  /** Where it logs. @default nowhere */
  log?: Logger | false | undefined
  /** How long an operation waits for its jobs to end, the canary and then all, in milliseconds. @default 10 minutes */
  undecidedMs?: number | undefined
}

export interface OperationsWorker {
  /** Resolves when it has stopped, whether asked to or not. */
  readonly over: Promise<void>
  /** Gives back the operations that it executes, so that another worker continues them. */
  stop(): Promise<void>
}

/** Operations that one process executes at once. */
const concurrency = 2

/**
 * A small worker that executes operations and nothing else: the console has one, and the command line starts one if no
 * other worker executes operations. Its login needs the rights of a worker and of an operator.
 */
export async function startOperationsWorker(
  options: OperationsWorkerOptions = {},
): Promise<OperationsWorker> {
  const { connection, schema = 'stint', log = false, undecidedMs, ...rest } = options
  rejectUnknown('startOperationsWorker()', rest, ['connection', 'schema', 'log', 'undecidedMs'])
  schemaOption(schema)
  const connected = await connect(connection, process.env)
  const { url } = connected
  const db = new Database({
    // One connection for all: a step is one short transaction, and nothing is held between two of them.
    url,
    schema,
    poolSize: 1,
    deadlineMs: 10_000,
    applicationName: 'stint operations',
  })
  const announcer = new Announcer({
    database: () => Promise.resolve(db),
    localKey: () => databaseKey(url, schema),
    notify: isNotifyUsual(process.env),
  })
  const onActed = ({ ready, workers }: Acted): void => {
    // Jobs with the same hint share one.
    const hints = new Map(ready.map((job) => [JSON.stringify(job), { ...job, inMs: 0 }]))
    announcer.stored(new Set(hints.values()))
    for (const worker of workers) announcer.askedToStop(worker)
  }
  const worker = new Worker({
    // It hears of operations of its own process at once, and finds those of others by polling. So it has only four
    // connections: these two, its heartbeat's, and the one of the steps.
    connection: url,
    schema,
    log,
    upkeep: false,
    poolSize: 2,
    txPoolSize: 1,
    notify: false,
    drain: '1s',
    queues: { [operationQueue]: { concurrency, prefetch: 0 } },
  }).handle(operationJob, async ({ id }, ctx) => {
    const job = { id: ctx.jobId, lease: ctx.fence.token }
    const done = await executeOperation(db, { id, job, signal: ctx.signal, onActed, undecidedMs })
    if (typeof done === 'object') ctx.snooze(`${Math.round(done.snoozeMs)}ms`, 'waits for jobs to end')
    return { state: done ?? null }
  })
  const over = new Promise<void>((resolve) => worker.on('stopped', resolve))
  try {
    await worker.start()
  } catch (error) {
    await db.close()
    await connected.release()
    throw error
  }
  return {
    over,
    stop: async () => {
      await worker.stop()
      await db.close()
      await connected.release()
    },
  }
}

export interface KeptOperationsWorker {
  /** Starts the worker if it does not run yet. Cheap to call often. */
  wake(): void
  stop(): Promise<void>
}

/** How long to wait before another try. */
const againMs = 5_000

/**
 * An operations worker that is started on first use, and again when it could not start or had to give up: the database
 * may be unreachable for a while.
 */
export function keepOperationsWorker(
  options: OperationsWorkerOptions,
  onTrouble: (error: unknown) => void = () => undefined,
): KeptOperationsWorker {
  const stopped = new AbortController()
  let running: Promise<void> | undefined
  const keep = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        const worker = await startOperationsWorker(options)
        await Promise.race([worker.over, aborted(stopped.signal)])
        await worker.stop()
      } catch (error) {
        onTrouble(error)
      }
      await pause(againMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
    }
  }
  return {
    wake: () => {
      if (!stopped.signal.aborted) running ??= keep()
    },
    stop: async () => {
      stopped.abort()
      await running
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve()
        },
        { once: true },
      )
  })
}
