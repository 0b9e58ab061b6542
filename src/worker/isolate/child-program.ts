// The program of a child, process or thread: it loads the file that makes the worker, takes only that worker's
// handlers, and runs one job at a time. `children.ts` has the essay.
import { isMainThread, parentPort } from 'node:worker_threads'
import { errorCodes, StintError } from '../../core/errors.ts'
import { show } from '../../core/options.ts'
import { cleanText } from '../../core/json/storable.ts'
import { isError, peek } from '../../core/failures/thrown.ts'
import { Database } from '../../db/database.ts'
import type { JobHint } from '../../jobs/new/new-job.ts'
import { Rates } from '../../limits/rates/rates.ts'
import { BreakerRunner, sendOn } from '../../limits/breakers/runner.ts'
import { tellEntry } from '../../node/entry.ts'
import { loadFile } from '../../node/load-file.ts'
import type { ContextServices } from '../attempt/context.ts'
import { CancelledError, endedByForce, execute } from '../attempt/execute.ts'
import { FencedTransactions } from '../attempt/fenced-tx.ts'
import { HeldJob } from '../attempt/held-job.ts'
import { newStores } from '../attempt/steps/stores.ts'
import type { Logger } from '../report/log.ts'
import type { Outcome } from '../attempt/outcome.ts'
import { catchUncaught } from '../attempt/uncaught.ts'
import { killGroup, startGuard } from './guard.ts'
import { lending, becomeChild } from './lend.ts'
import type { LentWorker, Lent } from './lend.ts'
import type { FromChild, Introduction, JobMessage, ToChild } from './messages.ts'

process.env['STINT_CHILD'] = isMainThread ? 'process' : 'thread'
const registry = becomeChild()
/** Connections of one job: its `ctx.tx`, and calls of `ctx.once` at the same time. */
const poolSize = 4
const politeMs = 500

let lent: Lent | undefined
let database: Database | undefined
let services: ContextServices | undefined
let current: HeldJob | undefined
/** The worker stops: no further step begins. */
let isDraining = false
/** Jobs that wait until the worker has written their notes. */
const waiting: { lease: string; resolve: () => void }[] = []

function hear(message: ToChild): void {
  switch (message.type) {
    case 'load':
      void load(message)
      return
    case 'run':
      void run(message)
      return
    case 'abort':
      if (current?.job.leaseId === message.lease) current.abort(message.cause, errorOf(message))
      return
    case 'written':
      for (const one of waiting.splice(0)) {
        if (one.lease === message.lease) one.resolve()
        else waiting.push(one)
      }
      return
    case 'drain':
      isDraining = true
      return
    case 'end':
      void leave()
  }
}

if (isMainThread) {
  process.on('message', hear)
  // The worker is gone: no one can store an outcome any more.
  process.once('disconnect', () => {
    killGroup(process.pid)
  })
  // A signal to the whole process group is for the worker: it drains, and ends its children after that.
  process.on('SIGTERM', () => undefined).on('SIGINT', () => undefined)
  startGuard()
  // Keeps this process alive until it is told to end, even if the file closes the channel.
  setInterval(() => undefined, 60_000)
} else parentPort?.on('message', hear)

catchUncaught({
  failUncaught: (jobId, thrown) => {
    const held = current
    if (lent === undefined || held?.job.id !== jobId) return false
    tellUncaught(thrown)
    held.abort('uncaught', thrown)
    const otherwise = endedByForce(held, lent.handlers.get(held.job.kind).contract)
    end(held, held.isCompleted ? { type: 'handed-over', children: [], otherwise } : otherwise)
    return true
  },
  noteLate: ({ jobId, kind }, thrown) => {
    // The error is not of the job that runs here now; that job goes on.
    tellUncaught(thrown)
    tell({ type: 'late', jobId, kind, message: textOf(thrown) })
  },
  giveUp: (error) => {
    tellUncaught(error)
    // An error thrown in here ends the child, and Node writes it to standard error.
    throw error
  },
})

/** Reports the error. The child is not used again: its state is not known. */
function tellUncaught(thrown: unknown): void {
  tell({ type: 'uncaught', message: textOf(thrown) })
}

function textOf(thrown: unknown): string {
  return cleanText(isError(thrown) ? `${thrown.name}: ${thrown.message}` : show(thrown), 512)
}

function tell(message: FromChild): void {
  if (!isMainThread) parentPort?.postMessage(message)
  else if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

async function load(introduction: Introduction): Promise<void> {
  const { entry, isTold, url, schema, leaseMs, graceMs, deadlineMs } = introduction
  if (isTold) tellEntry(entry)
  try {
    lent = (await lenderIn(introduction)).worker[lending]()
    const db = new Database({ url, schema, poolSize, deadlineMs, applicationName: 'stint child' })
    database = db
    services = {
      transactions: new FencedTransactions(db, { leaseMs, graceMs }),
      notes: { progress, log, finish },
      logger,
      schema,
      blobs: lent.blobs,
      approvals: lent.approvals,
      rates: new Rates(() => Promise.resolve(db)),
      // Workers hear of its steps with their next rules.
      breakers: new BreakerRunner({ send: sendOn(database), onStep: () => undefined }),
      ...newStores(db, { leaseMs, announcer: { stored } }),
      isDraining: () => isDraining,
      progressed: (held) => {
        held.progressed()
        about(held, { type: 'progressed' })
      },
    }
    tell({ type: 'ready', kinds: lent.handlers.kinds, rssBytes: process.memoryUsage.rss() })
  } catch (error) {
    const stack = isError(error) ? peek(error, 'stack') : undefined
    tell({ type: 'failed', message: typeof stack === 'string' ? stack : String(error) })
  }
}

/**
 * Finds the worker whose handlers this child runs. A file that awaits its own worker never finishes loading: then the
 * call of run() or start() is enough.
 */
async function lenderIn(introduction: Introduction): Promise<LentWorker> {
  const { entry, kinds } = introduction
  const asked = new Promise<LentWorker>((resolve) => {
    registry.onStarted = () => {
      const found = registry.workers.find(
        (one) => one.wasStarted && isSameWorker(one, introduction) && has(one, kinds),
      )
      if (found !== undefined) resolve(found)
    }
  })
  const loaded = loadFile(entry).then(() => {
    const able = registry.workers.filter((one) => has(one, kinds))
    const found = able.length > 1 ? able.find((one) => isSameWorker(one, introduction)) : able[0]
    if (found !== undefined) return found
    const what = kinds.map((kind) => `'${kind}'`).join(', ')
    throw new StintError(
      'isolation-failed',
      `Expected ${entry} to make ${able.length > 1 ? 'its workers in the same order as here' : 'a worker'} when it is loaded, with a handler for ${what}; it made ${registry.workers.length}.`,
    )
  })
  return Promise.race([asked, loaded])
}

function isSameWorker({ entry, index }: LentWorker, introduction: Introduction): boolean {
  return entry === introduction.entry && index === introduction.index
}

function has({ worker }: LentWorker, kinds: readonly string[]): boolean {
  const own = worker[lending]().handlers.kinds
  return kinds.every((kind) => own.includes(kind))
}

async function run({ job, workerId, heldForMs, timeoutMs }: ToChild & { type: 'run' }): Promise<void> {
  if (lent === undefined || services === undefined) return
  const now = performance.now()
  const held = new ToldHeldJob(job, { heldSince: now - heldForMs, workerId })
  held.begin(undefined, timeoutMs)
  current = held
  about(held, { type: 'begun' })
  end(held, await execute(held, lent.handlers, services))
}

/** Reports the outcome, once. */
function end(held: HeldJob, outcome: Outcome): void {
  if (current !== held) return
  current = undefined
  about(held, { type: 'outcome', outcome })
}

/** Tells the worker about the completion: from then on its row is gone, and that is no lost lease. */
class ToldHeldJob extends HeldJob {
  override complete(): void {
    super.complete()
    about(this, { type: 'completed' })
  }
}

type Unaddressed<Message> = Message extends unknown ? Omit<Message, 'lease'> : never

function about({ job }: HeldJob, message: Unaddressed<JobMessage>): void {
  tell({ ...message, lease: job.leaseId })
}

function progress(held: HeldJob, percent: number, note: string | null): void {
  if (!held.isCompleted) about(held, { type: 'progress', percent, note })
}

function log(
  held: HeldJob,
  { level, message, data }: { level: string; message: string; data: string | undefined },
): void {
  about(held, { type: 'line', level, message, data })
}

/** Children are made by the one job that runs here. */
function stored(hints: ReadonlySet<JobHint>): void {
  if (current !== undefined) about(current, { type: 'stored', hints: [...hints] })
}

function finish(held: HeldJob): Promise<void> {
  return new Promise((resolve) => {
    waiting.push({ lease: held.job.leaseId, resolve })
    about(held, { type: 'write' })
  })
}

const logger: Logger = {
  debug: logAt('debug'),
  info: logAt('info'),
  warn: logAt('warn'),
  error: logAt('error'),
}

/** The worker writes the line, in its own format and to its own output; a line is always about the job that logs it. */
function logAt(level: 'debug' | 'info' | 'warn' | 'error') {
  return (fields: object, message: string): void => {
    if (current !== undefined) about(current, { type: 'log', level, fields, message })
  }
}

function errorOf({ cause, reason }: ToChild & { type: 'abort' }): Error {
  const { name, message, code, cancelReason } = reason
  if (cause === 'cancel') return new CancelledError(cancelReason)
  const known = errorCodes.find((one) => one === code)
  if (known !== undefined) return new StintError(known, message)
  const error = new Error(message)
  error.name = name
  return error
}

async function leave(): Promise<void> {
  const timer = setTimeout(() => process.exit(0), politeMs)
  await services?.rates.close()
  await database?.close()
  clearTimeout(timer)
  process.exit(0)
}
