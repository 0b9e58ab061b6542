import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { call, openConsole, tokens } from '../console/scene.ts'
import { runStint } from '../support/cli.ts'
import { eventually, gate, newJob, startFor, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

function idOf({ worker }: TestWorker): string {
  return worker.id ?? ''
}

describe('a worker that a person controls', () => {
  test('claims nothing while it is paused, finishes what runs, and goes on when it is resumed', async () => {
    const job = newJob()
    const goOn = gate()
    const worker = await startFor(scene, job, () => goOn.opened)
    const running = await scene.stint.enqueue(job)
    await worker.hears('started', running.id)
    await scene.stint.as({ actor: 'ana' }).workers.pause(idOf(worker), { reason: 'deploy' })
    expect(await worker.tells('workerPaused')).toEqual([{ workerId: idOf(worker), reason: 'deploy' }])
    const later = await scene.stint.enqueue(job)
    goOn.open(undefined)
    await worker.hears('succeeded', running.id)
    expect((await scene.stint.get(later.id))?.state).toBe('ready')
    const [listed] = (await scene.stint.workers.list()).filter(({ id }) => id === idOf(worker))
    expect(listed?.wanted).toEqual({ state: 'paused', reason: 'deploy' })

    await scene.stint.as({ actor: 'ana' }).workers.resume(idOf(worker))
    await worker.tells('workerResumed')
    await worker.hears('succeeded', later.id)
    const entries = await scene.db.query(
      `select action, actor, reason from stint.audit where target = $1 order by at`,
      [idOf(worker)],
    )
    expect(entries).toEqual([
      { action: 'worker.pause', actor: 'ana', reason: 'deploy' },
      { action: 'worker.resume', actor: 'ana', reason: null },
    ])
  })

  test('stops in order when it is drained', async () => {
    const job = newJob()
    const goOn = gate()
    const worker = await startFor(scene, job, () => goOn.opened)
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('started', id)
    await scene.stint.workers.drain(idOf(worker), { reason: 'the node goes away' })
    expect(await worker.tells('stopping')).toEqual([{ reason: 'drained by a person: the node goes away' }])
    goOn.open(undefined)
    await worker.tells('stopped')
    expect((await scene.stint.get(id))?.state).toBe('succeeded')
  })

  test('ignores an order that no client would store', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, () => undefined)
    for (const hostile of ['"x"', '[]', '{"state":"drained"}', '{"state":["paused"],"reason":{"a":1}}']) {
      await scene.db.query('update stint.worker set wanted = $2 where id = $1', [idOf(worker), hostile])
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      const [listed] = (await scene.stint.workers.list()).filter((one) => one.id === idOf(worker))
      expect(listed?.wanted).toBeNull()
    }
    expect(worker.told('workerPaused')).toEqual([])
  })

  test('an order for a worker that does not live is refused', async () => {
    const id = randomUUID()
    await expect(scene.stint.workers.pause(id)).rejects.toMatchObject({ code: 'worker-not-found' })
    await expect(scene.stint.workers.drain('x')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.workers.pause(id, { until: 1 } as object)).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

describe('the concurrency of a queue that a person sets', () => {
  test('holds in a running worker, up and down, and ends by itself', async () => {
    const counts = { now: 0, most: 0 }
    const job = newJob()
    const worker = await startFor(
      scene,
      job,
      async () => {
        counts.most = Math.max(counts.most, ++counts.now)
        await pause(5)
        counts.now--
      },
      { queues: { [job.queue]: 2 }, pollFloor: '50ms' },
    )
    const run = async (): Promise<number> => {
      const before = worker.told('succeeded').length
      await worker.until(() => counts.now === 0 || worker.told('succeeded').length > before)
      counts.most = 0
      await scene.stint.enqueueMany(job, Array.from({ length: 40 }).fill(1))
      await worker.tells('succeeded', undefined, before + 40)
      return counts.most
    }
    expect(await run()).toBe(2)
    const set = await scene.stint.queues.setConcurrency(job.queue, {
      concurrency: 6,
      for: '1h',
      reason: 'backlog',
    })
    expect(set).toMatchObject({ concurrency: 6, reason: 'backlog' })
    await eventually(async () => (await run()) === 6, 'six at once')
    await scene.stint.as({ actor: 'ana' }).setConcurrency(job.queue, { concurrency: 1, reason: 'slow down' })
    await eventually(async () => (await run()) === 1, 'one at once')
    const until = new Date(Date.now() + 300)
    await scene.stint.queues.setConcurrency(job.queue, { concurrency: 3, until })
    await eventually(async () => (await run()) === 2, 'the end of the override')
    expect(await scene.stint.queues.concurrency(job.queue)).toBeNull()
    await scene.stint.queues.setConcurrency(job.queue, { concurrency: 5 })
    await scene.stint.as({ actor: 'ana' }).clearConcurrency(job.queue)
    expect(await scene.stint.queues.concurrency(job.queue)).toBeNull()
  })

  test.each([
    [{ concurrency: 0 }, 'concurrency'],
    [{ concurrency: 10_001 }, 'concurrency'],
    [{ concurrency: 2, until: 'soon' }, 'until'],
    [{ concurrency: 2, until: '2020-01-01' }, 'until'],
    [{ concurrency: 2, until: '2030-01-01', for: '1h' }, 'until'],
    [{ concurrency: 2, for: -1 }, 'for'],
    [{ concurrency: 2, unti: 'x' }, 'unti'],
  ])('%j is refused', async (options, path) => {
    await expect(scene.stint.queues.setConcurrency('media', options as never)).rejects.toMatchObject({
      code: 'invalid-option',
      issues: [{ path }],
    })
  })
})

test('a person pauses a worker and sets a concurrency over HTTP and by command', async () => {
  const job = newJob()
  const worker = await startFor(scene, job, () => undefined)
  const served = openConsole(scene.db.url)
  const admin = { token: tokens.admin.token }
  const paused = await call(served, `POST /v1/workers/${idOf(worker)}/pause`, { ...admin, json: {} })
  expect(paused.status).toBe(204)
  await worker.tells('workerPaused')
  expect((await runStint(['worker', 'list'], scene.db.url)).stdout).toContain('paused')
  expect(await runStint(['worker', 'resume', idOf(worker)], scene.db.url)).toMatchObject({ code: 0 })
  await worker.tells('workerResumed')
  expect(await runStint(['worker', 'drain', randomUUID()], scene.db.url)).toMatchObject({ code: 3 })
  const unknown = await call(served, `POST /v1/workers/${randomUUID()}/drain`, { ...admin, json: {} })
  expect(unknown.status).toBe(404)
  const viewer = { token: tokens.viewer.token, json: {} }
  expect((await call(served, `POST /v1/workers/${idOf(worker)}/drain`, viewer)).status).toBe(403)

  const path = `/v1/queues/${job.queue}/concurrency`
  const set = await call(served, `PUT ${path}`, {
    ...admin,
    json: { concurrency: 3, for: '1h', reason: 'slow' },
  })
  expect(set.body).toMatchObject({ concurrency: 3, reason: 'slow' })
  const shown = await runStint(['queue', 'concurrency', job.queue], scene.db.url)
  expect(shown.stdout).toContain('3 in each worker')
  expect((await call(served, `DELETE ${path}`, admin)).status).toBe(204)
  expect((await call(served, `GET ${path}`, admin)).body).toMatchObject({ concurrency: null })
  expect(await runStint(['queue', 'concurrency', job.queue, 'many'], scene.db.url)).toMatchObject({ code: 2 })
})
