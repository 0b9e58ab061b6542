/*
 * How many of the server's connections a console uses, as the server counts them: four for all requests and the stream,
 * and four more for the worker that executes operations, once there is an operation.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { EventReader } from './event-reader.ts'
import { anything, call, openConsole, openStint, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }
const operator = { token: tokens.operator.token }
const admin = { token: tokens.admin.token }
const ofConsole = ['stint', 'stint listen']
const ofExecutor = ['stint worker', 'stint heartbeat', 'stint operations', 'stint ctx.tx']

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

/** The application names of the server's sessions, limited to these names. */
async function sessionsOf(names: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select application_name as name from pg_stat_activity where datname = current_database()`,
  )
  return rows.map(({ name }) => name).filter((name) => names.includes(name))
}

/** The largest number of sessions with these names, read again and again until the work is over. */
async function mostWhile(names: readonly string[][], work: Promise<unknown>): Promise<number[]> {
  const most = names.map(() => 0)
  const watch = { isOver: false }
  const end = (): void => {
    watch.isOver = true
  }
  void work.then(end, end)
  do {
    const there = await sessionsOf(names.flat())
    for (const [place, group] of names.entries()) {
      const count = there.filter((name) => group.includes(name)).length
      most[place] = Math.max(most[place] ?? 0, count)
    }
  } while (!watch.isOver)
  await work
  return most
}

const paths = [
  ...['overview', 'queues', 'workers', 'leases', 'system', 'stats', 'metrics', 'jobs', 'error-groups'],
  ...['schedules', 'operations', 'audit', 'jobs?where=state:dead', 'queues/busy'],
]

test('concurrent requests and a stream use at most four connections, and the executor at most four more', async () => {
  const stint = openStint(db.url)
  const { jobs } = await stint.enqueueMany(anything, [1, 2, 3, 4, 5, 6], { queue: 'busy' })
  for (const { id } of jobs.slice(0, 3)) await bury(db, id)
  await stint.close()
  // The server ends a session a moment after its client; the sessions of this client have the console's name.
  await eventually(async () => {
    expect(await sessionsOf(ofConsole)).toHaveLength(0)
  })
  const served = openConsole(db.url)
  const stream = await served.fetch(
    new Request('http://console.test/v1/events?topics=overview,workers', {
      headers: { Authorization: `Bearer ${tokens.viewer.token}` },
    }),
  )
  const reader = new EventReader(stream.body ?? new ReadableStream())
  await reader.tells(({ event }) => event === 'snapshot')

  const crowd = async (): Promise<void> => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => call(served, `GET /v1/${paths[n % paths.length] ?? ''}`, admin)),
    )
    // A request that finds no connection in time gets 503; no other error is allowed.
    for (const { status } of answers) expect([200, 503]).toContain(status)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(paths.length)
  }
  const started = await call(served, 'POST /v1/operations', {
    ...operator,
    json: { action: 'replay', where: 'state:dead queue:busy', canary: 0, reason: 'mended' },
    headers: { 'Idempotency-Key': 'mend-busy' },
  })
  expect(started.status).toBe(202)
  const acted = eventually(async () => {
    const { body } = await call(served, `GET /v1/operations/${String(started.body['id'])}`, viewer)
    expect(body).toMatchObject({ acted: 3 })
  })
  const [own = 0, executor = 0] = await mostWhile([ofConsole, ofExecutor], Promise.all([crowd(), acted]))
  expect(own).toBeGreaterThan(1)
  expect(own).toBeLessThanOrEqual(4)
  expect(executor).toBeGreaterThan(0)
  expect(executor).toBeLessThanOrEqual(4)
})
