import { form } from './form.ts'

/**
 * Which way the suite goes to the database: straight, or by a harder one. Chosen by STINT_TEST_LANE, which is read here
 * and nowhere else. This file is also read by vitest.config.ts, before there are tests. A lane runs a slice, about 150
 * tests of the paths that differ in it, and in the medium form (form.ts) every file that has a meaning there.
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

/**
 * The files that reach the database through a client, a worker, a console or the command line. Not those of plans, of
 * browsers, of the embedded server and the package; nor of the server's own affairs (migrations, logins and their roles,
 * what the doctor examines), nor of drivers of others.
 */
const workers = ['test/work.test.ts', 'test/{guarantees,promises,worker}/**/*.test.ts']
const clients = [
  'test/{change,commit-cut,dead-letters,enqueue,races,status,unique}.test.ts',
  'test/{blobs,hostile,sql-enqueue}.test.ts',
]
const trouble = [
  'test/database-trouble/{bad-row,connections,cut-in-tx,disk-full,partition,standstill,wrong-node}.test.ts',
]
const services = [
  'test/{gauges,numbers,recurring-by-hand,schedules,supervisor}.test.ts',
  'test/upkeep/{indexes,leader,old-days,retention}.test.ts',
]
const people = ['test/cli-{jobs,numbers,operations,queue,schedules}.test.ts', 'test/console/**/*.test.ts']

/** Where a lane differs most: connections that are shared, lost and cut; waking up without being told. */
const slices: Readonly<Record<Lane, readonly string[]>> = {
  pgbouncer: [
    'test/promises/{crash,drain,lost-reply,wake-up,zombie}.test.ts',
    'test/worker/{cancel,claims,notes,settle,tx}.test.ts',
    'test/{commit-cut,enqueue}.test.ts',
    'test/database-trouble/{connections,cut-in-tx,partition,wrong-node}.test.ts',
    'test/guarantees/commit-cuts.test.ts',
  ],
  'no-notify': [
    'test/promises/{crash,drain,fires,order,wake-up}.test.ts',
    'test/worker/{cancel,claims,order,settle,tx}.test.ts',
    'test/{status,work}.test.ts',
    'test/console/{events,prefer-wait}.test.ts',
  ],
}

export const filesOfLane: readonly string[] =
  lane === undefined
    ? ['src/**/*.test.ts', 'test/**/*.test.ts']
    : form === 'short'
      ? slices[lane]
      : [...workers, ...clients, ...trouble, ...services, ...people]

/** What would only say the same again, and takes its time over it. */
const outOfBoth = [
  // Of values, whichever way they go.
  'test/worker/outputs.test.ts',
  // Of what a process does by its own clock.
  'test/worker/hanging-loops.test.ts',
  'test/guarantees/fires.test.ts',
  // Of plans, of texts, of what is decided before the database is asked.
  'test/console/{assets,cli-lines,csrf,examples,fuzz,openapi,permissions,plans,scope,search-plans,slugs}.test.ts',
]
const outOf: Readonly<Record<Lane, readonly string[]>> = {
  // And where the sessions of the server are counted: those are PgBouncer's.
  pgbouncer: [...outOfBoth, 'test/console/connections.test.ts'],
  // And of those that nobody tells anything: what cannot be written, what is counted, what is asked for twice at once.
  'no-notify': [
    ...outOfBoth,
    'test/{blobs,gauges,hostile,numbers,races,sql-enqueue}.test.ts',
    'test/database-trouble/{bad-row,standstill}.test.ts',
    'test/upkeep/{indexes,old-days,retention}.test.ts',
  ],
}

export const filesOutOfLane: readonly string[] = lane === undefined ? [] : outOf[lane]

export const environmentOfLane: Readonly<Record<string, string>> =
  lane === 'no-notify' ? { STINT_NOTIFY: 'off' } : {}

/** Whether a test has no meaning in this lane; the reason is printed. For `test.skipIf()` and `describe.skipIf()`. */
export function isOutOf(of: Lane, reason: string): boolean {
  if (lane === of) process.stderr.write(`left out of the ${of} lane: ${reason}\n`)
  return lane === of
}
