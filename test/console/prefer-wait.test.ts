import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { PermanentError } from '../../src/worker.ts'
import { newName, startFor, workerScene } from '../support/workers.ts'
import { call, openConsole, tokens } from './scene.ts'
import type { Answer } from './scene.ts'

const scene = workerScene()
const token = tokens.operator.token

function newContract(): JobContract {
  return defineJob({ kind: newName('waited'), queue: newName('waited'), redact: ['secret'] })
}

function post(
  contract: JobContract,
  headers: Record<string, string>,
  options: Parameters<typeof openConsole>[1] = {},
): Promise<Answer> {
  const served = openConsole(scene.db.url, { contracts: [contract], ...options })
  return call(served, 'POST /v1/jobs', { token, headers, json: { kind: contract.kind, input: {} } })
}

describe('POST /v1/jobs with Prefer: wait', () => {
  test('Prefer: wait is answered with 200 and the result when the job ends in time', async () => {
    const contract = newContract()
    const worker = await startFor(scene, contract, () => ({ said: 'hello', secret: 'x' }))
    const answer = await post(contract, { Prefer: 'respond-async, wait=20' })
    const id = answer.body['id'] as string
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Preference-Applied')).toBe('wait=20')
    expect(answer.headers.get('Location')).toBe(`/v1/jobs/${id}`)
    expect(answer.body).toMatchObject({
      state: 'succeeded',
      duplicate: false,
      links: { self: `/v1/jobs/${id}` },
      result: { said: 'hello', secret: '[redacted]' },
    })
    await worker.hears('succeeded', id)
  })

  test('Prefer: wait is answered with the usual 202 when the job does not end in time', async () => {
    const contract = newContract()
    const answer = await post(contract, { Prefer: 'wait=1' })
    const id = answer.body['id'] as string
    expect(answer.status).toBe(202)
    expect(answer.headers.get('Preference-Applied')).toBe('wait=1')
    expect(answer.headers.get('Location')).toBe(`/v1/jobs/${id}`)
    expect(answer.body).toMatchObject({ id, state: 'ready', duplicate: false })
    expect(answer.body).not.toHaveProperty('result')
    expect(await scene.stint.get(id)).toMatchObject({ state: 'ready' })
  })

  test('Prefer: wait waits for at most 30 seconds, however long the request asks for', async () => {
    const contract = newContract()
    await startFor(scene, contract, () => undefined)
    const answer = await post(contract, { Prefer: 'wait=86400' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Preference-Applied')).toBe('wait=30')
  })

  test('Prefer: wait is answered as soon as the job has died', async () => {
    const contract = newContract()
    await startFor(scene, contract, () => {
      throw new PermanentError('no such card')
    })
    const answer = await post(contract, { Prefer: 'wait=20' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ state: 'dead' })
    expect(answer.body['result'] ?? null).toBeNull()
    const result = await call(
      openConsole(scene.db.url),
      `GET /v1/jobs/${answer.body['id'] as string}/result`,
      { token },
    )
    expect(result.status).toBe(409)
  })

  test('Prefer: wait hides the result from callers who may not see it', async () => {
    const contract = newContract()
    await startFor(scene, contract, () => ({ said: 'hello' }))
    const answer = await post(
      contract,
      { Prefer: 'wait=20' },
      {
        tokens: [],
        auth: () => ({
          actor: 'p',
          role: 'operator',
          origin: 'api',
          can: (action) => action !== 'view.input',
        }),
      },
    )
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ state: 'succeeded' })
    expect(answer.text).not.toContain('hello')
  })

  test('Prefer: wait waits for the same job when the request is repeated', async () => {
    const contract = newContract()
    const headers = { 'Idempotency-Key': randomUUID() }
    const first = await post(contract, headers)
    expect(first.status).toBe(202)
    await startFor(scene, contract, () => 'done')
    const again = await post(contract, { ...headers, Prefer: 'wait=20' })
    expect(again.status).toBe(200)
    expect(again.headers.get('Idempotency-Replayed')).toBe('true')
    expect(again.body).toMatchObject({ id: first.body['id'], state: 'succeeded', result: 'done' })
  })

  test.each(['', 'wait=0', 'wait', 'wait=soon', 'respond-async', 'handling=lenient; await=5'])(
    'a request with Prefer: %j does not wait',
    async (prefer) => {
      const answer = await post(newContract(), prefer === '' ? {} : { Prefer: prefer })
      expect(answer.status).toBe(202)
      expect(answer.headers.has('Preference-Applied')).toBe(false)
    },
  )
})
