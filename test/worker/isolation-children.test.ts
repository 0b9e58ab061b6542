import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger } from '../support/ledger.ts'
import { attemptsOf, eventually, newName, startWorker, stored, takeLease } from '../support/workers.ts'
import { entry, isolationScene } from './isolation-scene.ts'

const { scene, isolated, resultOf, whereabouts } = isolationScene()

test('a job whose handler kills its process three times is quarantined', async () => {
  const one = await isolated('process')
  const stories = { abort: 'killed by SIGABRT', segfault: 'killed by SIGSEGV' }
  const ids = await Promise.all(Object.keys(stories).map((act) => one.send(act)))
  for (const [index, story] of Object.values(stories).entries()) {
    const id = ids[index] ?? ''
    await one.worker.hears('dead', id)
    expect(await stored(scene, id)).toMatchObject({
      state: 'dead',
      reason: 'quarantined',
      error: { class: 'crash', code: 'job-crashed', message: expect.stringContaining(story) as string },
    })
    const attempts = await attemptsOf(scene, id)
    expect(attempts.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ...[['crashed', 1] as const, ['crashed', 1] as const, ['crashed', 1] as const],
    ])
    expect(attempts[0]?.reason).toMatch(/, with \d+ MB of memory$/)
    const [row] = await scene.db.query('select crashes from stint.dead where id = $1', [id])
    expect(row).toEqual({ crashes: 3 })
  }
})

test('an isolated handler whose lease is lost is killed before another worker can run the job', async () => {
  const one = await isolated('process', { lease: '2s', sweepEvery: '100ms' })
  const { pid } = await whereabouts(one)
  const id = await one.send('busy')
  await one.worker.hears('started', id)
  await takeLease(scene, id)
  await one.worker.hears('leaseLost', id)
  expect(isAlive(pid)).toBe(false)
  // This worker is the only one that can claim the job again.
  await one.worker.hears('started', id, 2)
})

test('a child that ends before a job began in it is not counted as a crash of the job', async () => {
  const one = await isolated('process')
  const { pid } = await whereabouts(one)
  process.kill(pid, 'SIGKILL')
  const after = await whereabouts(one)
  expect(after.pid).not.toBe(pid)
  expect((await attemptsOf(scene, after.jobId)).filter(({ outcome }) => outcome === 'crashed')).toEqual([])
})

test('a child ignores the signals that are meant for its worker', async () => {
  const one = await isolated('process')
  const { pid } = await whereabouts(one)
  process.kill(pid, 'SIGTERM')
  process.kill(pid, 'SIGINT')
  expect((await whereabouts(one)).pid).toBe(pid)
})

test('an entry file that no longer loads costs no attempt', async () => {
  const file = join(import.meta.dirname, `programs/${newName('vanishing')}.mjs`)
  await writeFile(file, "export { worker } from './acting.mjs'")
  onTestFinished(() => rm(file, { force: true }))
  const one = await isolated({ in: 'process', maxJobs: 1 }, { children: { entry: file } })
  await whereabouts(one)
  await rm(file)
  const id = await one.send('return')
  const { error, delayMs } = await one.worker.hears('failed', id)
  expect(error).toMatchObject({ code: 'isolation-failed' })
  expect(delayMs).toBeGreaterThanOrEqual(10_000)
  expect(await stored(scene, id)).toMatchObject({ state: 'retrying', attempt: 0 })
})

test('a job that crashed a thread runs in its own process from then on', async () => {
  const one = await isolated('thread')
  const { pid } = await whereabouts(one)
  expect(pid).toBe(process.pid)
  const id = await one.send('until', { epoch: 3 })
  const own = Number(await resultOf(one, id))
  expect(own).not.toBe(process.pid)
  expect((await attemptsOf(scene, id)).map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed'])
  await eventually(() => Promise.resolve(!isAlive(own)), 'that process is gone')
})

test('a worker that stops gives back the jobs in its children and leaves no child behind', async () => {
  const others = new Set(await childrenOf(process.pid))
  const one = await isolated('process', { stuck: { grace: '10s' } })
  const { pid: warm } = await whereabouts(one)
  const ids = [await one.send('ignore'), await one.send('busy'), await one.send('obey')]
  for (const id of ids) await one.worker.hears('started', id)
  const pids = (await childrenOf(process.pid)).filter((pid) => !others.has(pid))
  expect(pids).toContain(warm)
  await one.worker.worker.stop({ drain: '100ms' })
  expect(pids.filter(isAlive)).toEqual([])
  for (const id of ids) {
    expect(await stored(scene, id)).toMatchObject({ state: 'ready', attempt: 0 })
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'released' }])
  }
})

test('a killed handler takes the processes that it started with it', async () => {
  const ledger = await createLedger()
  const one = await isolated('process', { stuck: { grace: '50ms' } })
  const id = await one.send('spawn', { ledger: ledger.file })
  const pid = Number((await ledger.wrote({ type: 'spawned' })).pid)
  expect(isAlive(pid)).toBe(true)
  await scene.stint.cancel(id)
  await one.worker.hears('cancelled', id)
  await eventually(() => Promise.resolve(!isAlive(pid)), 'that process is gone')
})

test('jobs beyond the number of children wait for a child, and their timeout does not run meanwhile', async () => {
  const one = await isolated('process', { children: { max: 1 } })
  await whereabouts(one)
  const first = await one.send('obey', {}, { timeout: '700ms', attempts: 1 })
  await one.worker.hears('started', first)
  const second = await one.send('obey', {}, { timeout: '700ms', attempts: 1 })
  await one.worker.hears('started', second)
  const facts = [await one.worker.hears('dead', first), await one.worker.hears('dead', second)]
  for (const { ranMs } of facts) expect(ranMs).toBeGreaterThanOrEqual(690)
  expect((await attemptsOf(scene, second)).map(({ outcome }) => outcome)).toEqual(['timed-out'])
})

test('a handler without isolation runs in the process of the worker', async () => {
  const job = defineJob({ kind: 'beside', queue: newName() })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, children: { entry } }, (one) =>
    one.handle(job, () => process.pid),
  )
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toBe(process.pid)
})

test('a suspect job of a kind without isolation runs in a child if an entry exists', async () => {
  const job = defineJob({ kind: 'act', queue: newName(), retry: { backoff: () => 1 } })
  const { id } = await scene.stint.enqueue(job, { act: 'return' })
  await scene.db.query('update stint.job set crashes = 1 where id = $1', [id])
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, children: { entry } }, (one) =>
    one.handle(job, () => 'beside'),
  )
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toMatchObject({ child: 'process' })
})

test('a suspect job of a kind without isolation runs in the worker if the entry does not load', async () => {
  const job = defineJob({ kind: 'act', queue: newName(), retry: { backoff: () => 1 } })
  const { id } = await scene.stint.enqueue(job, { act: 'return' })
  await scene.db.query('update stint.job set crashes = 1 where id = $1', [id])
  const options = { queues: { [job.queue]: 1 }, children: { entry: '/no/such/file.mjs' } }
  const worker = await startWorker(scene, options, (one) => one.handle(job, () => 'beside'))
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toBe('beside')
})

/** The child processes of a process, as listed by the kernel. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.trim().split(' ').map(Number)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
