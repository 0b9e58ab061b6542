import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../src/index.ts'
import { readMessage } from '../src/worker/processes/messages.ts'
import { eventually } from './support/eventually.ts'
import { createLedger } from './support/ledger.ts'
import { cli, supervisedFile, supervisorStage } from './support/supervised.ts'
import { newName } from './support/workers.ts'

const stage = supervisorStage()
const { supervise, hold, work } = stage

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
  const [early] = await stage.db.query(
    `select job.started_at < worker.lease_until as is
       from stint.job, stint.worker
      where job.id = $1 and worker.id = $2`,
    [id, first.workerId],
  )
  expect(early).toEqual({ is: true })
  await held.open()
  await scene.up(3)
  await eventually(async () => {
    expect(await stage.stint.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  })
  const [attempt] = await stage.db.query<{ reason: string }>(
    'select reason from stint.attempt where job_id = $1',
    [id],
  )
  expect(attempt?.reason).toContain('killed by SIGKILL')
  expect(scene.logged('process ended')).toMatchObject([
    { pid: first['pid'], signal: 'SIGKILL', code: null, ranMs: expect.any(Number) as number, youngDeaths: 1 },
  ])
})

test('a file that cannot start makes the supervisor give up, with the error on standard error', async () => {
  const none = join(stage.folder, 'none.mjs')
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
    const rows = await stage.db.query(
      'select death from stint.worker where id = $1 and lost_at is not null',
      [first.workerId],
    )
    expect(rows).toEqual([{ death: 'exit code 7' }])
  })
})

test.runIf(existsSync('/dev/full'))('a log that cannot be written stops nothing', async () => {
  const ledger = await createLedger()
  const queue = newName()
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [cli, 'work', supervisedFile, '--processes', '1'], {
    stdio: ['ignore', full, full],
    env: {
      ...process.env,
      DATABASE_URL: stage.db.url,
      STINT_PROGRAM: JSON.stringify({ ledger: ledger.file, queue }),
    },
  })
  const exited = once(child, 'exit')
  onTestFinished(() => {
    child.kill('SIGKILL')
    closeSync(full)
  })
  await stage.stint.enqueue(defineJob({ kind: 'work', queue }), { act: 'sleep', ms: 1 })
  await ledger.wrote({ type: 'end' })
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('the supervisor checks its arguments', async () => {
  const wrong = ['0', '257', '-1', '1.5', 'many', ''].map((processes) =>
    work(supervisedFile, `--processes=${processes}`),
  )
  const health = work(supervisedFile, '--processes', '2', '--health', 'here')
  const alone = work(supervisedFile, '--health', '8080')
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
