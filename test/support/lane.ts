import { form } from './form.ts'

/**
 * How the suite reaches the database: directly, or in a harder way. Chosen by STINT_TEST_LANE, which only this file
 * reads. vitest.config.ts also loads this file, before any test runs. A lane runs a slice, about 150 tests of the paths
 * that differ in it, and in the medium form (form.ts) every file that makes sense in it.
 *
 * pgbouncer  clients and workers under test go through a PgBouncer in transaction mode without prepared statements and
 *            with few connections; tests look at the database directly, and LISTEN goes there too
 * no-notify  neither side uses NOTIFY: polling alone
 */
export type Lane = 'pgbouncer' | 'no-notify'

export const lane: Lane | undefined = laneOf(process.env['STINT_TEST_LANE'])

function laneOf(name: string | undefined): Lane | undefined {
  if (name === undefined || name === '') return undefined
  if (name === 'pgbouncer' || name === 'no-notify') return name
  throw new Error(`STINT_TEST_LANE is '${name}': expected 'pgbouncer' or 'no-notify'`)
}

/**
 * The files that reach the database through a client, a worker, a console or the command line. Without the tests of plans,
 * browsers, the embedded server, the package, migrations, logins and their roles, the checks of the doctor, and the
 * drivers of other libraries.
 */
const workers = ['test/work.test.ts', 'test/{flows,guarantees,limits,promises,worker}/**/*.test.ts']
const clients = [
  'test/{change,commit-cut,dead-letters,enqueue,follow,races,replay,results,status,unique}.test.ts',
  'test/{blobs,hostile,sql-enqueue}.test.ts',
]
const trouble = [
  'test/database-trouble/{bad-row,connections,cut-in-tx,disk-full,partition,standstill,wrong-node}.test.ts',
]
const services = [
  'test/{error-groups,gauge-refresh,gauges,numbers,stats}.test.ts',
  'test/{recurring-by-hand,schedule-actions,schedule-policies,schedules}.test.ts',
  'test/{supervisor,supervisor-signals}.test.ts',
  'test/upkeep/{fire-retention,indexes,leader,old-days,retention}.test.ts',
]
const people = ['test/cli-{jobs,numbers,operations,queue,schedules}.test.ts', 'test/console/**/*.test.ts']

/** Where a lane differs most: connections that are shared, lost and cut; wake-ups without NOTIFY. */
const slices: Readonly<Record<Lane, readonly string[]>> = {
  pgbouncer: [
    'test/promises/{crash,drain,lost-reply,wake-up,zombie}.test.ts',
    'test/worker/{cancel,claims,lanes,notes,settle,steps,steps-faults,steps-order,tx,tx-retries}.test.ts',
    'test/flows/{counting,endings,signal-races}.test.ts',
    'test/limits/{rates,rates-in-jobs}.test.ts',
    'test/{commit-cut,enqueue,follow,results}.test.ts',
    'test/database-trouble/{connections,cut-in-tx,partition,wrong-node}.test.ts',
    'test/guarantees/{commit-cuts,limits}.test.ts',
    'test/limits/*.test.ts',
  ],
  'no-notify': [
    'test/promises/{crash,drain,fires,order,wake-up}.test.ts',
    'test/worker/{cancel,claims,lanes,order,settle,steps,tx,tx-retries}.test.ts',
    'test/flows/signal-races.test.ts',
    'test/limits/rates-in-jobs.test.ts',
    'test/{follow,results,status,work}.test.ts',
    'test/guarantees/limits.test.ts',
    'test/limits/*.test.ts',
    'test/console/{events,events-cost,events-http,events-outage,prefer-wait}.test.ts',
  ],
}

export const filesOfLane: readonly string[] =
  lane === undefined
    ? ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']
    : form === 'short'
      ? slices[lane]
      : [...workers, ...clients, ...trouble, ...services, ...people]

/** Slow files that would show nothing new in a lane. */
const outOfBoth = [
  // Tests of values, which do not depend on the connection.
  'test/worker/{output-values,output-warnings,outputs}.test.ts',
  // Tests of what a process does by its own clock.
  'test/worker/hanging-loops.test.ts',
  'test/guarantees/fires.test.ts',
  // Tests of plans, of texts, and of decisions made before the database is asked.
  'test/console/{assets,csrf,examples,fuzz,openapi,permissions,plans,search-plans,slugs}.test.ts',
  'test/console/{cli-lines,cli-lines-operations,scope,scope-keys}.test.ts',
]
const outOf: Readonly<Record<Lane, readonly string[]>> = {
  // Also the tests that count sessions of the server: in this lane those belong to PgBouncer.
  pgbouncer: [...outOfBoth, 'test/console/connections.test.ts'],
  // Also tests that do not depend on notifications: of invalid writes, of counts, of concurrent requests.
  'no-notify': [
    ...outOfBoth,
    'test/{blobs,hostile,races,sql-enqueue}.test.ts',
    'test/{error-groups,gauge-refresh,gauges,numbers,stats}.test.ts',
    'test/database-trouble/{bad-row,standstill}.test.ts',
    'test/upkeep/{fire-retention,indexes,old-days,retention}.test.ts',
  ],
}

export const filesOutOfLane: readonly string[] = lane === undefined ? [] : outOf[lane]

export const environmentOfLane: Readonly<Record<string, string>> =
  lane === 'no-notify' ? { STINT_NOTIFY: 'off' } : {}

/** Whether a test makes no sense in this lane; the reason is printed. For `test.skipIf()` and `describe.skipIf()`. */
export function isOutOf(of: Lane, reason: string): boolean {
  if (lane === of) process.stderr.write(`left out of the ${of} lane: ${reason}\n`)
  return lane === of
}
