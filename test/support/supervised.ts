import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { WorkerOptions } from '../../src/worker.ts'
import { eventually } from './eventually.ts'
import { createLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { finish, start } from './processes.ts'
import type { Finished, Started } from './processes.ts'
import { newName, workerScene } from './workers.ts'
import type { Scene } from './workers.ts'

export const cli = join(import.meta.dirname, '../../dist/cli/main.js')
/** The file whose worker the supervised processes run. */
export const supervisedFile = join(import.meta.dirname, 'supervised-worker.mjs')

export interface Setup {
  processes?: number
  /** Further command-line arguments. */
  args?: readonly string[]
  nodeArgs?: readonly string[]
  options?: WorkerOptions
  brokenIf?: string
  /** While this file exists, a starting process reports it and waits for a file with that name and its pid. */
  heldIf?: string
  diesWhenReady?: boolean
  /** The file runs its worker itself, instead of leaving that to `stint work`. */
  runsItself?: boolean
}

/** A supervisor with its processes, on a queue of its own. */
export interface Supervised {
  readonly ledger: Ledger
  readonly queue: string
  readonly running: Started
  /** The lines of the supervisor's log, and of its processes', with this message. */
  logged(message: string): Record<string, unknown>[]
  /** Resolves with the pids once so many processes have ever been ready, and the supervisor has logged it. */
  up(count: number): Promise<number[]>
  signal(signal: NodeJS.Signals): void
}

/** A database, a client of it, a folder for the files that processes read, and supervisors on that database. */
export interface SupervisorStage extends Scene {
  readonly folder: string
  /** Starts a supervisor, which is stopped when the test is finished. */
  supervise: (setup?: Setup) => Promise<Supervised>
  /** Jobs that run until `open` is called. */
  hold: (one: Supervised, count: number) => Promise<{ ids: string[]; open: () => Promise<void> }>
  /** The states of the jobs of a queue. */
  ends: (one: Supervised) => Promise<Record<string, unknown>[]>
  /** Runs `stint work` with these arguments to its end. */
  work: (...args: string[]) => Promise<Finished>
}

/** Created before the first test of a file, and removed after the last. */
export function supervisorStage(): SupervisorStage {
  const scene = workerScene()
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stint-supervisor-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return {
    get db() {
      return scene.db
    },
    get stint() {
      return scene.stint
    },
    get folder() {
      return folder
    },
    supervise: (setup = {}) => supervise(scene, setup),
    hold: async ({ queue, ledger }, count) => {
      const until = join(folder, newName('gate'))
      const inputs = Array.from({ length: count }, () => ({ act: 'hold', until }))
      const { jobs } = await scene.stint.enqueueMany(defineJob({ kind: 'work', queue }), inputs)
      await ledger.wroteMany({ type: 'start' }, count)
      return { ids: jobs.map(({ id }) => id), open: () => writeFile(until, '') }
    },
    ends: ({ queue }) =>
      scene.db.query(
        `select place, state::text, attempt, crashes, count(*)::integer as jobs
           from stint.jobs where queue = $1 group by 1, 2, 3, 4`,
        [queue],
      ),
    work: (...args) =>
      finish(process.execPath, [cli, 'work', ...args], {
        cwd: folder,
        env: { ...process.env, DATABASE_URL: scene.db.url, STINT_LOG: 'json' },
      }),
  }
}

async function supervise(
  { db }: Scene,
  { processes = 2, args = [], nodeArgs = [], ...program }: Setup,
): Promise<Supervised> {
  const ledger = await createLedger()
  const queue = newName()
  const command = [...nodeArgs, cli, 'work', supervisedFile, '--processes', String(processes), ...args]
  const running = start(process.execPath, command, {
    // A process group of its own, as under a shell: signals to it must not reach the tests.
    detached: true,
    env: {
      ...process.env,
      DATABASE_URL: db.url,
      STINT_LOG: 'json',
      STINT_PROGRAM: JSON.stringify({ ledger: ledger.file, queue, ...program }),
    },
  })
  onTestFinished(async ({ task }) => {
    // The second signal hurries, and is a different one: of two equal pending signals one is lost.
    running.child.kill('SIGTERM')
    running.child.kill('SIGINT')
    const { stdout, stderr } = await running.finished
    if (task.result?.state === 'fail')
      process.stderr.write(`--- said:\n${stdout.slice(-8_000)}\n${stderr.slice(-4_000)}\n`)
  })
  const logged = (message: string): Record<string, unknown>[] =>
    running
      .said()
      .split('\n')
      // The text after the last line break may be half a line.
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => String(msg).startsWith(message))
  return {
    ledger,
    queue,
    running,
    logged,
    up: async (count) => {
      const lines = await ledger.wroteMany({ type: 'ready' }, count)
      await eventually(() => {
        expect(logged('process ready').length).toBeGreaterThanOrEqual(count)
        return Promise.resolve()
      })
      return lines.map(({ pid }) => Number(pid))
    },
    signal: (signal) => {
      running.child.kill(signal)
    },
  }
}
