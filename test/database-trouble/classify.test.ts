import { describe, expect, test } from 'vitest'
import { classify, DeadlineError, markUnsent, isPerhapsOneRow } from '../../src/db/classify.ts'
import type { DatabaseTrouble } from '../../src/db/classify.ts'

function failed(code: string | undefined, message = 'it failed'): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

/** The class of each error: the table of the design, row by row. */
const table: Record<DatabaseTrouble, (string | Error)[]> = {
  again: [
    ...['40001', '40P01', '55P03', '57014', '26000'],
    failed('0A000', 'cached plan must not change result type'),
  ],
  unknown: [
    ...['57P01', '57P02', '57P05', '25P03', '25P04', '40003', '08000', '08003', '08006', '08P01'],
    ...['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_DESTROYED'],
    new DeadlineError(100),
    failed(undefined, 'Connection terminated unexpectedly'),
    failed('08P01', 'query_wait_timeout'),
    failed('08P01', 'server conn crashed?'),
    failed('08P01', 'server closed the connection unexpectedly'),
  ],
  wait: [
    ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT'],
    ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ...['57P03', '53000', '53100', '53200', '53300', '53400', '58030', '28000', '28P01', '25006'],
    // The code of the error does not matter: nothing had been sent.
    markUnsent(failed('08P01', 'no more connections allowed (max_client_conn)')),
    markUnsent(failed('08P01', 'server login has been failing, try again later (server_login_retry)')),
    markUnsent(failed('ECONNRESET')),
    markUnsent(failed('57P01')),
    markUnsent(failed(undefined, 'timeout exceeded when trying to connect')),
    markUnsent(failed(undefined, 'The server does not support SSL connections')),
  ],
  value: ['22P05', '22P02', '22021', '22001', '22003', '54000', '54001', '23514', '22032'],
  partition: [failed('23514', 'no partition of relation "finished" found for row')],
  duplicate: ['23505'],
  broken: [
    ...['42601', '42703', '42501', '42P01', '42883', '3F000', '3D000', '2BP01', '0A000', 'P0001'],
    // Nothing was sent, but waiting does not repair this error.
    markUnsent(failed('3D000', 'database "nowhere" does not exist')),
  ],
  corrupt: ['XX000', 'XX001', 'XX002', '58P01'],
}

describe.each(Object.entries(table))('classify: %s', (trouble, errors) => {
  test.each(
    errors.map((each) =>
      typeof each === 'string' ? ([each, failed(each)] as const) : ([String(each), each] as const),
    ),
  )(`%s is classified as ${trouble}`, (_name, error) => {
    expect(classify(error)).toBe(trouble)
  })
})

test('a thrown value that is not an error is classified as unknown', () => {
  const unreadable = new Proxy(
    {},
    {
      get: () => {
        throw new Error('do not look')
      },
    },
  )
  for (const thrown of [undefined, null, 'text', 7, {}, unreadable, { code: 7 }])
    expect(classify(thrown)).toBe('unknown')
})

test('a data error may be the fault of one row, and an error of schema or rights never is', () => {
  for (const code of [
    'XX000',
    'XX001',
    '22P02',
    '22P05',
    '23502',
    '23503',
    '23505',
    '23514',
    'P0001',
    '38000',
  ])
    expect([code, isPerhapsOneRow(failed(code))]).toEqual([code, true])
  for (const code of ['42501', '42P01', '3F000', '25006', '53100', '57P01', '08006', '40001', 'ECONNRESET'])
    expect([code, isPerhapsOneRow(failed(code))]).toEqual([code, false])
})
