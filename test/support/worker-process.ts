import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { WorkerOptions } from '../../src/worker.ts'
import { eventually } from './eventually.ts'
import type { Ledger } from './ledger.ts'
import { optionsOfLane } from './way.ts'

/** The definition of a job of the program: the part of `defineJob` that JSON can hold. */
export interface ProgramJob {
  kind: string
  queue?: string
  version?: number
  timeout?: string
  retry?: {
    attempts?: number
    backoff?: string[]
  }
  /** Its handler accepts only inputs whose `n` is a number; producers do not know that. */
  isStrict?: boolean
  /** Runs each attempt in a child process. */
  isolate?: 'process'
  /** Handles up to this many jobs in one call. */
  batch?: number
  /** Its jobs start in order, by the `key` of their input. */
  isOrdered?: boolean
}

export interface WorkerSetup {
  /** The name in its lines of the ledger. */
  name: string
  jobs: readonly ProgramJob[]
  options: WorkerOptions
  /** Leaves out the events of single jobs, for tests with thousands of them. */
  isTerse?: boolean
  /** Names of middleware layers around every attempt, outermost first. */
  middleware?: readonly string[]
  logLevel?: 'debug'
  /** The folder of the built package that it runs; the tests of the tests use a changed copy. @default this repository */
  root?: string | undefined
  /** Options of Node. */
  execArgv?: readonly string[]
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A worker in its own process, which runs test/promises/programs/worker.mjs on the built package. */
export interface WorkerProcess {
  name: string
  pid: number
  /** Sends a signal: SIGKILL, SIGSTOP, SIGCONT, SIGTERM. */
  signal(signal: NodeJS.Signals): void
  /** Sends a word to the program; acts wait for words. */
  tell(word: string): void
  exited: Promise<Exit>
  /** Its standard output and error so far: its log. */
  output(): string
}

export const repository = join(import.meta.dirname, '../..')
const program = 'test/promises/programs/worker.mjs'

/** Starts a worker process; it is killed when the test has finished, if it still runs. */
export function spawnWorker(
  ledger: Ledger,
  { options: given, root = repository, execArgv = [], ...setup }: WorkerSetup,
): WorkerProcess {
  const options = { ...optionsOfLane(given), ...given }
  return spawnProgram(join(root, program), { ...setup, ledger: ledger.file, options }, execArgv)
}

/** Starts a program of the tests, which reads its setup from STINT_PROGRAM; it ends with the test at the latest. */
export function spawnProgram(
  file: string,
  setup: { name: string; ledger: string; [more: string]: unknown },
  execArgv: readonly string[] = [],
): WorkerProcess {
  const { name } = setup
  const child = fork(file, [], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [...execArgv],
    env: { ...process.env, STINT_PROGRAM: JSON.stringify(setup) },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = exitOf(child)
  onTestFinished(async ({ task }) => {
    child.kill('SIGKILL')
    await exited
    if (task.result?.state === 'fail') process.stderr.write(`--- ${name} said:\n${output.slice(-8_000)}\n`)
  })
  return {
    name,
    pid: child.pid ?? 0,
    signal: (signal) => {
      child.kill(signal)
    },
    tell: (word) => {
      // A process that is just ending cannot receive it: without a callback, that would be an error in this process.
      child.send(word, () => undefined)
    },
    exited,
    output: () => output,
  }
}

/** Starts a worker process and waits until it claims. */
export async function startWorker(ledger: Ledger, setup: WorkerSetup): Promise<WorkerProcess> {
  const worker = spawnWorker(ledger, setup)
  const ready = ledger.wrote({ type: 'event', name: 'ready', worker: setup.name })
  ready.catch(() => undefined)
  const exited = worker.exited.then(({ code, signal }) => {
    // Both may have happened before this process could look.
    if (ledger.lines({ type: 'event', name: 'ready', worker: setup.name }).length > 0) return
    throw new Error(
      `'${setup.name}' ended with ${code ?? signal ?? '?'} before it was ready:\n${worker.output()}`,
    )
  })
  exited.catch(() => undefined)
  await Promise.race([ready, exited])
  return worker
}

/** A line of a worker's log. */
export interface LogLine {
  level: number
  msg: string
  [more: string]: unknown
}

/** The log lines of a worker so far. Other output is ignored. */
export function logOf(worker: WorkerProcess): LogLine[] {
  const lines = worker.output().split('\n')
  // The last line may be incomplete.
  return lines.slice(0, -1).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []))
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal })
    })
  })
}

/**
 * Ends the lease of a process that has ended now instead of later. So the lease can be as long as a busy machine needs,
 * and the test does not wait for it.
 */
export async function endLease(
  db: { query: (text: string, values: unknown[]) => Promise<unknown[]> },
  { pid, exited }: WorkerProcess,
): Promise<void> {
  await exited
  await db.query(
    `update stint.worker set lease_until = stint.now() where (about ->> 'pid')::integer = $1 and lost_at is null`,
    [pid],
  )
}

/** Waits until the database has stored that the handlers of these jobs have begun: from then on a crash counts for them. */
export async function notedBegun(
  db: { query: (text: string, values: unknown[]) => Promise<unknown[]> },
  ids: readonly string[],
): Promise<void> {
  await eventually(async () => {
    const rows = await db.query('select from stint.job where id = any($1) and begun_lease = lease_id', [ids])
    expect(rows).toHaveLength(ids.length)
  })
}
