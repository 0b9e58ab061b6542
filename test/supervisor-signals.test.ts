import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineJob } from '../src/index.ts'
import { eventually } from './support/eventually.ts'
import { finish } from './support/processes.ts'
import { supervisorStage } from './support/supervised.ts'
import { newName } from './support/workers.ts'

const stage = supervisorStage()
const { supervise, hold, ends } = stage

/** What a worker logs at its first signal. */
const toldToStop = 'stopping: finishing what runs'
const untouched = { place: 'finished', state: 'succeeded', attempt: 1, crashes: 0 }

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
  const { id } = await stage.stint.enqueue(defineJob({ kind: 'work', queue: scene.queue }), { act: 'block' })
  const { workerId } = await scene.ledger.wrote({ type: 'start', job: id })
  scene.signal('SIGTERM')
  expect(await scene.running.finished).toMatchObject({ code: 1 })
  expect(scene.logged('killed: it did not stop in time')).toMatchObject([{ afterMs: 10_000 }])
  const [row] = await stage.db.query<{ death: string }>('select death from stint.worker where id = $1', [
    workerId,
  ])
  expect(row?.death).toContain('killed by its supervisor')
})

test('SIGHUP replaces the processes one by one under load, and no job fails or loses an attempt', async () => {
  const heldIf = join(stage.folder, newName('held'))
  const scene = await supervise({ heldIf })
  const first = await scene.up(2)
  const inputs = Array.from({ length: 800 }, () => ({ act: 'sleep', ms: 20 }))
  await stage.stint.enqueueMany(defineJob({ kind: 'work', queue: scene.queue }), inputs)
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
  const brokenIf = join(stage.folder, newName('broken'))
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

/** The process group of a process, to which a terminal sends its signals. */
async function groupOf(pid: number): Promise<number> {
  const { stdout } = await finish('ps', ['-o', 'pgid=', '-p', String(pid)])
  return Number(stdout)
}
