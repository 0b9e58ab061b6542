import { expect, test } from 'vitest'
import { errorCodes, StintError } from '../../core/errors.ts'
import { HttpProblem, pointerOf, problemResponse, toProblem } from './problem.ts'

const at = { instance: '/v1/jobs', requestId: 'r1' }

test('every error code of Stint becomes a problem with its own slug, status and text', async () => {
  for (const code of errorCodes) {
    const problem = toProblem(new StintError(code, 'what happened'))
    expect(problem.code).toBe(code)
    expect(problem.status).toBeGreaterThanOrEqual(400)
    expect(problem.title).not.toBe('')
    const response = problemResponse(problem, at)
    expect(response.headers.get('Content-Type')).toBe('application/problem+json')
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    const body = (await response.json()) as object
    expect(body).toMatchObject({ type: `urn:stint:problem:${code}`, status: problem.status, ...at })
    // A problem that may be retried has Retry-After.
    if (problem.status === 503) expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0)
  }
})

test('a problem reveals no text of the database, no stack and no message of an unknown error', async () => {
  const secret = 'select * from secret_table where password = $1'
  const cause = Object.assign(new Error(secret), { code: '42703' })
  const thrown = [
    new Error(secret),
    secret,
    { message: secret, stack: secret },
    null,
    ...(
      [
        'database-rejected',
        'database-unavailable',
        'schema-missing',
        'enqueue-unknown',
        'migration-failed',
      ] as const
    ).map((code) => new StintError(code, `refused: ${secret}`, { cause })),
    new StintError('invalid-input', `Invalid input: ${secret}`, {
      issues: [{ path: 'input.a', message: 'is wrong' }],
    }),
  ]
  for (const one of thrown) {
    const text = await problemResponse(toProblem(one), at).text()
    expect(text).not.toContain('secret_table')
    expect(text).not.toContain('.ts:')
  }
})

test('a reached limit of the console is answered as busy, not as an unavailable database', () => {
  const of = (cause: unknown) => toProblem(new StintError('database-unavailable', 'x', { cause })).code
  expect(
    of(Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })),
  ).toBe('busy')
  expect(of(Object.assign(new Error('lock'), { code: '55P03' }))).toBe('busy')
  expect(of(new Error('timeout exceeded when trying to connect'))).toBe('busy')
  expect(of(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))).toBe(
    'database-unavailable',
  )
})

test('a thrown problem is answered unchanged', () => {
  const problem = new HttpProblem({ status: 418, code: 'teapot', title: 't', detail: 'd', current: { a: 1 } })
  expect(toProblem(problem)).toBe(problem)
})

test('pointerOf() turns paths into JSON pointers', () => {
  expect(pointerOf('input.items[3].width')).toBe('/input/items/3/width')
  expect(pointerOf('options.runAt')).toBe('/runAt')
  expect(pointerOf('input["a.b/c~d"][0]')).toBe('/input/a.b~1c~0d/0')
  expect(pointerOf('input')).toBe('/input')
})
