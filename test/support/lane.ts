/**
 * Which way the suite goes to the database: straight, or by a harder one. Chosen by STINT_TEST_LANE, which is read here
 * and nowhere else. This file is also read by vitest.config.ts, before there are tests.
 *
 * pgbouncer  clients and workers under test go through a PgBouncer in transaction mode that knows no prepared
 *            statements, with few connections; tests look at the database directly, and LISTEN goes there too
 * no-notify  neither side uses NOTIFY: polling alone
 */
export type Lane = 'pgbouncer' | 'no-notify'

export const lane: Lane | undefined = laneOf(process.env['STINT_TEST_LANE'])

function laneOf(name: string | undefined): Lane | undefined {
  if (name === undefined || name === '') return undefined
  if (name === 'pgbouncer' || name === 'no-notify') return name
  throw new Error(`STINT_TEST_LANE is '${name}': expected 'pgbouncer' or 'no-notify'`)
}

/** The files that drive a worker, and those that drive a client: other files would only say the same again. */
const workers = ['test/work.test.ts', 'test/{guarantees,promises,worker}/**/*.test.ts']
const clients = ['test/{change,commit-cut,dead-letters,enqueue,races,status,unique}.test.ts']
const trouble = [
  'test/database-trouble/{bad-row,connections,cut-in-tx,disk-full,partition,wrong-node}.test.ts',
]

const filesOf: Readonly<Record<Lane, readonly string[]>> = {
  pgbouncer: [...workers, ...clients, ...trouble],
  'no-notify': workers,
}

export const filesOfLane: readonly string[] =
  lane === undefined ? ['src/**/*.test.ts', 'test/**/*.test.ts'] : filesOf[lane]

/** Of values, or of what schedulers do by the clock whichever way they go; and long. */
export const filesOutOfLane: readonly string[] =
  lane === undefined ? [] : ['test/worker/outputs.test.ts', 'test/guarantees/fires.test.ts']

export const environmentOfLane: Readonly<Record<string, string>> =
  lane === 'no-notify' ? { STINT_NOTIFY: 'off' } : {}

/** Whether a test has no meaning in this lane; the reason is printed. For `test.skipIf()` and `describe.skipIf()`. */
export function isOutOf(of: Lane, reason: string): boolean {
  if (lane === of) process.stderr.write(`left out of the ${of} lane: ${reason}\n`)
  return lane === of
}
