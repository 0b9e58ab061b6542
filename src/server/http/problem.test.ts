import { expect, test } from 'vitest'
import { errorCodes, StintError } from '../../core/errors.ts'
import { HttpProblem, pointerOf, problemResponse, toProblem } from './problem.ts'

const at = { instance: '/v1/jobs', requestId: 'r1' }

test('every error of ours is a problem with a slug, a status and words of its own', async () => {
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
    // What may be tried again says when.
    if (problem.status === 503) expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0)
  }
})

test('nothing of the database, a stack or a stranger’s error gets into a problem', async () => {
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

test('past a limit of the console is busy, and not a database that is down', () => {
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

test('a problem that is thrown is answered as it is', () => {
  const problem = new HttpProblem({ status: 418, code: 'teapot', title: 't', detail: 'd', current: { a: 1 } })
  expect(toProblem(problem)).toBe(problem)
})

test('paths become JSON pointers', () => {
  expect(pointerOf('input.items[3].width')).toBe('/input/items/3/width')
  expect(pointerOf('options.runAt')).toBe('/runAt')
  expect(pointerOf('input["a.b/c~d"][0]')).toBe('/input/a.b~1c~0d/0')
  expect(pointerOf('input')).toBe('/input')
})
