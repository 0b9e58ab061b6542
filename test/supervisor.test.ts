import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import type { WorkerOptions } from '../src/worker.ts'
import { readMessage } from '../src/worker/processes/messages.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { eventually } from './support/eventually.ts'
import { createLedger } from './support/ledger.ts'
import type { Ledger } from './support/ledger.ts'
import { finish, start } from './support/processes.ts'
import type { Started } from './support/processes.ts'
import { newName } from './support/workers.ts'

const cli = join(import.meta.dirname, '../dist/cli/main.js')
const file = join(import.meta.dirname, 'support/supervised-worker.mjs')

let db: TestDatabase
let stint: Stint
let folder: string
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  folder = await mkdtemp(join(tmpdir(), 'stint-supervisor-'))
})
afterAll(async () => {
  await stint.close()
  await db.drop()
  await rm(folder, { recursive: true, force: true })
})

interface Setup {
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
interface Scene {
  readonly ledger: Ledger
  readonly queue: string
  readonly running: Started
  /** The lines of the supervisor's log, and of its processes', with this message. */
  logged(message: string): Record<string, unknown>[]
  /** Resolves with the pids once so many processes have ever been ready, and the supervisor has logged it. */
  up(count: number): Promise<number[]>
  signal(signal: NodeJS.Signals): void
}

async function supervise({
  processes = 2,
  args = [],
  nodeArgs = [],
  ...program
}: Setup = {}): Promise<Scene> {
  const ledger = await createLedger()
  const queue = newName()
  const command = [...nodeArgs, cli, 'work', file, '--processes', String(processes), ...args]
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

/** Jobs that run until `open` is called. */
async function hold(
  { queue, ledger }: Scene,
  count: number,
): Promise<{ ids: string[]; open(): Promise<void> }> {
  const until = join(folder, newName('gate'))
  const inputs = Array.from({ length: count }, () => ({ act: 'hold', until }))
  const { jobs } = await stint.enqueueMany(defineJob({ kind: 'work', queue }), inputs)
  await ledger.wroteMany({ type: 'start' }, count)
  return { ids: jobs.map(({ id }) => id), open: () => writeFile(until, '') }
}

/** The states of the jobs of a queue. */
function ends({ queue }: Scene): Promise<Record<string, unknown>[]> {
  return db.query(
    `select place, state::text, attempt, crashes, count(*)::integer as jobs
       from stint.jobs where queue = $1 group by 1, 2, 3, 4`,
    [queue],
  )
}

/** What a worker logs at its first signal. */
const toldToStop = 'stopping: finishing what runs'
const untouched = { place: 'finished', state: 'succeeded', attempt: 1, crashes: 0 }

test('several processes start and share the work, and report their health together', async () => {
  const scene = await supervise({ processes: 3, args: ['--health', '0'] })
  const pids = await scene.up(3)
  expect(new Set(pids).size).toBe(3)
  const port = Number(scene.logged('serving /healthz and /readyz')[0]?.['port'])
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`)
    return { status: response.status, ...((await response.json()) as object) }
  }
  const well = { status: 200, ok: true, processes: 3, ready: 3, problems: [] }
  expect([await ask('healthz'), await ask('readyz')]).toEqual([well, well])

  const held = await hold(scene, 3)
  expect(new Set(scene.ledger.lines({ type: 'start' }).map(({ pid }) => pid))).toEqual(new Set(pids))
  scene.signal('SIGTERM')
  await scene.ledger.wroteMany({ type: 'stopping' }, 3)
  expect(await ask('healthz')).toMatchObject({ status: 200 })
  expect(await ask('readyz')).toMatchObject({ status: 503, problems: ['it is stopping'] })
  await held.open()
  expect(await scene.running.finished).toMatchObject({ code: 0, stderr: '' })
})

test('a killed process is started again, and its job runs before its lease has expired', async () => {
  const scene = await supervise({ options: { lease: '30s', sweepEvery: '300ms' } })
  await scene.up(2)
  const held = await hold(scene, 1)
  const [id = ''] = held.ids
  const first = await scene.ledger.wrote({ type: 'start', job: id })
  process.kill(Number(first['pid']), 'SIGKILL')

  await scene.ledger.wrote({ type: 'start', job: id, epoch: 2 })
  const [early] = await db.query(
    `select job.started_at < worker.lease_until as is
       from stint.job, stint.worker
      where job.id = $1 and worker.id = $2`,
    [id, first.workerId],
  )
  expect(early).toEqual({ is: true })
  await held.open()
  await scene.up(3)
  await eventually(async () => {
    expect(await stint.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  })
  const [attempt] = await db.query<{ reason: string }>('select reason from stint.attempt where job_id = $1', [
    id,
  ])
  expect(attempt?.reason).toContain('killed by SIGKILL')
  expect(scene.logged('process ended')).toMatchObject([
    { pid: first['pid'], signal: 'SIGKILL', code: null, ranMs: expect.any(Number) as number, youngDeaths: 1 },
  ])
})

test.each([
  ['SIGTERM', (pid: number) => process.kill(pid, 'SIGTERM')],
  ['Ctrl-C in a terminal, which hits the whole group,', (pid: number) => process.kill(-pid, 'SIGINT')],
])('%s drains all processes, and no job loses an attempt', async (_what, send) => {
  const scene = await supervise({ options: { drain: '10m' } })
  const pids = await scene.up(2)
  // Two signals at once are sometimes delivered as one; this checks that they are never handled twice.
  for (const pid of pids) expect(await groupOf(pid)).toBe(pid)
  const held = await hold(scene, 2)
  send(scene.running.child.pid ?? 0)
  await scene.ledger.wroteMany({ type: 'stopping' }, 2)
  await held.open()
  expect(await scene.running.finished).toMatchObject({ code: 0, stderr: '' })
  expect(scene.logged('stopping now')).toEqual([])
  expect(await ends(scene)).toEqual([{ ...untouched, jobs: 2 }])
})

test('a second signal hurries all processes', async () => {
  const scene = await supervise({ options: { drain: '10m' } })
  await scene.up(2)
  await hold(scene, 2)
  scene.signal('SIGTERM')
  await scene.ledger.wroteMany({ type: 'stopping' }, 2)
  scene.signal('SIGINT')
  expect(await scene.running.finished).toMatchObject({ code: 0 })
  expect(await ends(scene)).toEqual([{ place: 'live', state: 'ready', attempt: 0, crashes: 0, jobs: 2 }])
})

test('a process that does not stop in time is killed, and the exit code says so', async () => {
  const scene = await supervise({ processes: 1, options: { drain: 0 } })
  await scene.up(1)
  const { id } = await stint.enqueue(defineJob({ kind: 'work', queue: scene.queue }), { act: 'block' })
  const { workerId } = await scene.ledger.wrote({ type: 'start', job: id })
  scene.signal('SIGTERM')
  expect(await scene.running.finished).toMatchObject({ code: 1 })
  expect(scene.logged('killed: it did not stop in time')).toMatchObject([{ afterMs: 10_000 }])
  const [row] = await db.query<{ death: string }>('select death from stint.worker where id = $1', [workerId])
  expect(row?.death).toContain('killed by its supervisor')
})

test('SIGHUP replaces the processes one by one under load, and no job fails or loses an attempt', async () => {
  const heldIf = join(folder, newName('held'))
  const scene = await supervise({ heldIf })
  const first = await scene.up(2)
  const inputs = Array.from({ length: 800 }, () => ({ act: 'sleep', ms: 20 }))
  await stint.enqueueMany(defineJob({ kind: 'work', queue: scene.queue }), inputs)
  await scene.ledger.wroteMany({ type: 'start' }, 20)
  await writeFile(heldIf, '')
  const replacement = async (count: number): Promise<string> => {
    const started = await scene.ledger.wroteMany({ type: 'held' }, count)
    return `${heldIf}.${String(started.at(-1)?.['pid'])}`
  }
  scene.signal('SIGHUP')
  await scene.running.says('rolling restart: begun')
  // Further signals during a roll make one more roll together. The first roll cannot end before the second process
  // continues.
  const one = await replacement(1)
  scene.signal('SIGHUP')
  await writeFile(one, '')
  const other = await replacement(2)
  scene.signal('SIGHUP')
  await rm(heldIf)
  await writeFile(other, '')
  const pids = await scene.up(6)
  await eventually(() => {
    expect(scene.logged('rolling restart: done')).toHaveLength(2)
    return Promise.resolve()
  })
  expect(new Set(pids).size).toBe(6)
  const stopped = scene.ledger.lines({ type: 'stopping' }).map(({ pid }) => Number(pid))
  expect(new Set(stopped.slice(0, 2))).toEqual(new Set(first))
  // Each process was ready before the one it replaces was told to stop. Compared by their clocks: one line comes from the
  // supervisor and one from the process, and either may leave the pipe first.
  const steps = scene
    .logged('')
    .filter(({ msg }) => msg === 'process ready' || msg === toldToStop)
    .sort(
      (one, other) =>
        Date.parse(String(one.time)) - Date.parse(String(other.time)) ||
        (one.msg === 'process ready' ? -1 : 1),
    )
  expect(steps.slice(2).map(({ msg }) => msg)).toEqual(
    Array.from({ length: 4 }, () => ['process ready', toldToStop]).flat(),
  )

  await scene.ledger.wroteMany({ type: 'end' }, inputs.length)
  await eventually(async () => {
    expect(await ends(scene)).toEqual([{ ...untouched, jobs: inputs.length }])
  })
  expect(scene.logged('process ended')).toEqual([])
})

test('a replacement that does not start leaves the old process running', async () => {
  const brokenIf = join(folder, newName('broken'))
  const scene = await supervise({ brokenIf })
  const pids = await scene.up(2)
  await writeFile(brokenIf, '')
  scene.signal('SIGHUP')
  await scene.running.says('rolling restart: stopped')
  expect(scene.ledger.lines({ type: 'stopping' })).toEqual([])
  const held = await hold(scene, 2)
  expect(scene.ledger.lines({ type: 'start' }).map(({ pid }) => pid)).toEqual(
    expect.arrayContaining(pids) as number[],
  )
  await held.open()

  await rm(brokenIf)
  scene.signal('SIGHUP')
  await scene.running.says('rolling restart: done')
  expect(await scene.up(4)).toHaveLength(4)
})

test('processes whose supervisor is killed drain and exit', async () => {
  const scene = await supervise({ options: { drain: '10m' } })
  await scene.up(2)
  const held = await hold(scene, 2)
  scene.signal('SIGKILL')
  await scene.ledger.wroteMany({ type: 'stopping' }, 2)
  await held.open()
  // The output closes when the last process that writes to it has ended.
  expect(await scene.running.finished).toMatchObject({ signal: 'SIGKILL', stderr: '' })
  expect(await ends(scene)).toEqual([{ ...untouched, jobs: 2 }])
})

test('a file that cannot start makes the supervisor give up, with the error on standard error', async () => {
  const none = join(folder, 'none.mjs')
  await writeFile(none, 'export const answer = 42')
  const { code, stdout, stderr } = await work(none, '--processes', '2')
  expect(code).toBe(1)
  expect(stdout).toContain('giving up: no process has come up')
  expect(stderr.match(/exports no worker/g)?.length).toBeGreaterThanOrEqual(6)
  expect(stdout.match(/process ended: exit code 2/g)?.length).toBeGreaterThanOrEqual(6)
})

test('processes that die young are restarted later and later, with the flags of node, and their end is recorded', async () => {
  // Without jitter: half of the bound each time.
  const nodeArgs = ['--import', 'data:text/javascript,Math.random=()=>0.5']
  const scene = await supervise({ processes: 1, nodeArgs, diesWhenReady: true })
  await scene.up(4)
  const deaths = scene.logged('process ended').slice(0, 3)
  expect(deaths).toMatchObject(
    [200, 400, 800].map((restartInMs, index) => ({
      code: 7,
      signal: null,
      restartInMs,
      youngDeaths: index + 1,
    })),
  )
  const first = await scene.ledger.wrote({ type: 'ready' })
  expect(first['execArgv']).toEqual(nodeArgs)
  await eventually(async () => {
    const rows = await db.query('select death from stint.worker where id = $1 and lost_at is not null', [
      first.workerId,
    ])
    expect(rows).toEqual([{ death: 'exit code 7' }])
  })
})

test('a file that runs its worker itself is recognized as ready, and drains', async () => {
  const scene = await supervise({ processes: 1, runsItself: true })
  await scene.up(1)
  const held = await hold(scene, 1)
  scene.signal('SIGHUP')
  await scene.up(2)
  await held.open()
  await scene.running.says('rolling restart: done')
  scene.signal('SIGTERM')
  expect(await scene.running.finished).toMatchObject({ code: 0, stderr: '' })
  expect(await ends(scene)).toEqual([{ ...untouched, jobs: 1 }])
})

test.runIf(existsSync('/dev/full'))('a log that cannot be written stops nothing', async () => {
  const ledger = await createLedger()
  const queue = newName()
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [cli, 'work', file, '--processes', '1'], {
    stdio: ['ignore', full, full],
    env: {
      ...process.env,
      DATABASE_URL: db.url,
      STINT_PROGRAM: JSON.stringify({ ledger: ledger.file, queue }),
    },
  })
  const exited = once(child, 'exit')
  onTestFinished(() => {
    child.kill('SIGKILL')
    closeSync(full)
  })
  await stint.enqueue(defineJob({ kind: 'work', queue }), { act: 'sleep', ms: 1 })
  await ledger.wrote({ type: 'end' })
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('the supervisor checks its arguments', async () => {
  const wrong = ['0', '257', '-1', '1.5', 'many', ''].map((processes) =>
    work(file, `--processes=${processes}`),
  )
  const health = work(file, '--processes', '2', '--health', 'here')
  const alone = work(file, '--health', '8080')
  const missing = work('missing.ts', '--processes', 'auto')
  for (const one of wrong)
    expect(await one).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('from 1 to 256 or auto') as string,
    })
  expect(await health).toMatchObject({ code: 2 })
  expect(await alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--processes') as string })
  expect(await missing).toMatchObject({ code: 2 })
})

test('messages on the channel that are not of Stint are ignored', () => {
  const lease = { workerId: '01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4', url: 'postgres://', schema: 'stint' }
  for (const other of [
    null,
    'ready',
    {},
    { type: 'ready' },
    { stint: 0, type: 'ready' },
    { stint: 1, type: 'new' },
  ])
    expect(readMessage(other)).toBeUndefined()
  expect(readMessage({ stint: 1, type: 'lease', ...lease, workerId: 'one' })).toBeUndefined()
  expect(readMessage({ stint: 2, type: 'lease', ...lease, drainMs: 5, more: true })).toEqual({
    type: 'lease',
    ...lease,
    drainMs: 5,
  })
})

/** The process group of a process, to which a terminal sends its signals. */
async function groupOf(pid: number): Promise<number> {
  const { stdout } = await finish('ps', ['-o', 'pgid=', '-p', String(pid)])
  return Number(stdout)
}

function work(...args: string[]): ReturnType<typeof finish> {
  return finish(process.execPath, [cli, 'work', ...args], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: db.url, STINT_LOG: 'json' },
  })
}
