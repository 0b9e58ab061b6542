import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { newJob, startFor, workerScene } from '../support/workers.ts'
import { newJobId, openLive } from './live-scene.ts'
import { anything, call, openConsole, tokens } from './scene.ts'

const scene = workerScene()

test('a wait for the end of a job resolves with its final state, or with nothing after the timeout', async () => {
  const live = openLive(scene.stint)
  const contract = newJob('wait')
  const worker = await startFor(scene, contract, () => 'done')
  const { id } = await scene.stint.enqueue(contract, null)
  expect(await live.jobEnded(id, 20_000)).toBe('succeeded')
  await worker.hears('succeeded', id)
  const waiting = await newJobId(scene.stint)
  expect(await live.jobEnded(waiting, 100)).toBeUndefined()
  expect(await live.jobEnded(randomUUID(), 20_000)).toBeUndefined()
  expect(live.waits).toBe(0)
})

test('many waits are answered by one read', async () => {
  const live = openLive(scene.stint)
  const ids = await Promise.all(Array.from({ length: 20 }, () => newJobId(scene.stint)))
  // The first read begins with the first wait, and may be the one that finds all.
  const before = live.ticks
  const ends = ids.map((id) => live.jobEnded(id, 20_000))
  for (const id of ids) await scene.stint.cancel(id)
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['cancelled']))
  expect(live.ticks).toBeGreaterThan(before)
})

test('a request waits for the end of its job with Prefer: wait', async () => {
  const worker = await startFor(scene, anything, () => ({ said: 'hello' }))
  const answer = await call(openConsole(scene.db.url), 'POST /v1/jobs', {
    token: tokens.operator.token,
    headers: { Prefer: 'wait=20' },
    json: { kind: 'any.thing', input: null },
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('Preference-Applied')).toBe('wait=20')
  expect(answer.body).toMatchObject({ state: 'succeeded', result: { said: 'hello' } })
  await worker.hears('succeeded', answer.body['id'] as string)
})
