import pg from 'pg'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { classify } from '../../src/db/classify.ts'
import { Database } from '../../src/db/database.ts'
import { pgBouncerVersion, startPgBouncer } from '../support/pgbouncer.ts'
import type { PgBouncer } from '../support/pgbouncer.ts'
import { straightWay } from '../support/way.ts'
import { gate, newJob, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()
const isMissing = pgBouncerVersion() === undefined
if (isMissing) process.stderr.write('left out: PgBouncer is not installed\n')

async function newPgBouncer(settings: Record<string, string | number> = {}): Promise<PgBouncer> {
  const bouncer = await startPgBouncer(inject('serverUrl'), settings)
  onTestFinished(() => bouncer.remove())
  return bouncer
}

function clientOf(connection: string, timeout = '30s'): Stint {
  const stint = new Stint({ connection, timeout })
  onTestFinished(() => stint.close())
  return stint
}

function databaseOf(
  url: string,
  { poolSize = 1, deadlineMs = 10_000 }: { poolSize?: number; deadlineMs?: number } = {},
): Database {
  const db = new Database({ url, schema: 'stint', poolSize, deadlineMs, applicationName: 'x' })
  onTestFinished(() => db.close())
  return db
}

describe.skipIf(isMissing)('through PgBouncer in transaction mode', () => {
  let url: string
  beforeAll(() => {
    url = straightWay(scene.db.url)
  })

  test('through PgBouncer, a worker with a listenConnection is woken at once, and one without polls', async () => {
    const bouncer = await newPgBouncer()
    const connection = bouncer.url(url)
    const [told, polled] = [newJob('told'), newJob('polled')]
    const listening = await startWorker(
      scene,
      { connection, listenConnection: url, pollFloor: '1h', queues: { [told.queue]: 2 } },
      (one) => one.handle(told, () => 'told'),
    )
    const polling = await startWorker(
      scene,
      { connection, pollFloor: '100ms', queues: { [polled.queue]: 2 } },
      (one) => one.handle(polled, () => 'polled'),
    )
    // A different URL of the same database, so that this process does not ring its workers directly.
    const stint = clientOf(`${connection}?application_name=producer`)
    for (let round = 0; round < 5; round++) {
      const [first, second] = await Promise.all([stint.enqueue(told), stint.enqueue(polled)])
      await listening.hears('succeeded', first.id)
      await polling.hears('succeeded', second.id)
    }
    expect(listening.told('trouble')).toEqual([])
    expect(polling.told('trouble')).toEqual([])
  })

  test('through PgBouncer, several clients can migrate the schema at once', async () => {
    const bouncer = await newPgBouncer()
    const clients = [1, 2, 3].map(() => {
      const stint = new Stint({ connection: bouncer.url(url), schema: 'elsewhere' })
      onTestFinished(() => stint.close())
      return stint
    })
    await Promise.all(clients.map((client) => client.migrate()))
    const { id } = await (clients[0] as Stint).enqueue(defineJob({ kind: 'first' }), { n: 1 })
    expect(await (clients[1] as Stint).get(id)).toMatchObject({ state: 'ready', input: { n: 1 } })
  })

  test('through PgBouncer, many rows are stored by COPY, and many callers share few connections', async () => {
    const bouncer = await newPgBouncer({ default_pool_size: 2 })
    const stint = clientOf(bouncer.url(url))
    const job = newJob('many')
    const inputs = Array.from({ length: 3_000 }, (_, n) => ({ n }))
    const [many] = await Promise.all([
      stint.enqueueMany(job, inputs),
      ...inputs.slice(0, 200).map((input) => stint.enqueue(job, input)),
      ...inputs.slice(0, 50).map((input, n) => stint.enqueue(job, input, { unique: { key: `k${n % 5}` } })),
    ])
    expect(many.stored).toBe(3_000)
    const [row] = await scene.db.query('select count(*)::integer as jobs from stint.job where queue = $1', [
      job.queue,
    ])
    expect(row).toEqual({ jobs: 3_000 + 200 + 5 })
  })

  test('restarts of PgBouncer under load lose no job, run no job twice and burn no attempt', async () => {
    const bouncer = await newPgBouncer({ default_pool_size: 8 })
    const connection = bouncer.url(url)
    const job = newJob('restart')
    await scene.db.query('create table restarted (job uuid not null)')
    const worker = await startWorker(
      scene,
      {
        connection,
        notify: false,
        lease: '10s',
        sweepEvery: '500ms',
        pollFloor: '50ms',
        queues: { [job.queue]: 20 },
      },
      (one) =>
        one.handle(job, (_input, ctx) =>
          ctx.tx(async (tx) => {
            await tx.query('insert into restarted (job) values ($1)', [ctx.jobId])
          }),
        ),
    )
    const stint = clientOf(connection)
    const ids: string[] = []
    const producing = { isOver: false }
    const produce = async (): Promise<void> => {
      while (!producing.isOver) ids.push((await stint.enqueue(job)).id)
    }
    const producers = [produce(), produce(), produce()]
    for (let restart = 0; restart < 8; restart++) {
      const done = worker.told('succeeded').length
      await worker.until(() => worker.told('succeeded').length > done + 20, 'work between two restarts')
      await bouncer.kill()
      await bouncer.start()
    }
    producing.isOver = true
    await Promise.all(producers)
    for (const id of ids) await worker.hears('succeeded', id)

    const rows = await scene.db.query(
      `select count(*)::integer as jobs, count(*) filter (where state = 'succeeded')::integer as succeeded,
              max(attempt)::integer as attempts, max(crashes)::integer as crashes
         from stint.jobs where queue = $1`,
      [job.queue],
    )
    expect(rows).toEqual([{ jobs: ids.length, succeeded: ids.length, attempts: 1, crashes: 0 }])
    const [effects] = await scene.db.query(
      'select count(*)::integer as all, count(distinct job)::integer as jobs from restarted',
    )
    expect(effects).toEqual({ all: ids.length, jobs: ids.length })
    expect(worker.told('failed')).toEqual([])
    expect(worker.told('workerLost')).toEqual([])
  })

  test('an enqueue whose wait for a server connection PgBouncer gives up is repeated and stored once', async () => {
    const bouncer = await newPgBouncer({ default_pool_size: 1, query_wait_timeout: 1 })
    const connection = bouncer.url(url)
    const busy = new pg.Client(connection)
    await busy.connect()
    onTestFinished(() => busy.end())
    await busy.query('begin')
    const db = databaseOf(connection)
    const error: unknown = await db.query('select 1', []).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: '08P01' })
    // The wait begins at the login here, and at the statement later: in both cases nothing counts as done.
    expect(['unknown', 'wait']).toContain(classify(error))

    const job = newJob('waiting')
    const stint = clientOf(connection)
    const storing = stint.enqueue(job, { n: 1 })
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await busy.query('commit')
    const { id } = await storing
    const rows = await scene.db.query('select id from stint.job where queue = $1', [job.queue])
    expect(rows).toEqual([{ id }])
  })

  test('an enqueue waits while PgBouncer has its maximum of clients, and fails with database-unavailable', async () => {
    const bouncer = await newPgBouncer({ max_client_conn: 2 })
    const connection = bouncer.url(url)
    const first = new pg.Client(connection)
    await first.connect()
    const second = new pg.Client(connection)
    await second.connect()
    onTestFinished(() => second.end())
    const job = newJob('limit')
    const hasty = clientOf(connection, '400ms')
    // Nothing was stored, and the error says so: it is not 'enqueue-unknown'.
    await expect(hasty.enqueue(job)).rejects.toMatchObject({ code: 'database-unavailable' })
    const patient = clientOf(connection)
    const storing = patient.enqueue(job)
    await first.end()
    const { id } = await storing
    expect(await scene.db.query('select id from stint.job where queue = $1', [job.queue])).toEqual([{ id }])
  })

  test('a statement that was prepared in another session is sent again without a name, even with many at once', async () => {
    const bouncer = await newPgBouncer({ default_pool_size: 4 })
    const connection = bouncer.url(url)
    const db = databaseOf(connection, { poolSize: 8 })
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) => db.query('select $1::integer as n, pg_sleep(0.002)', [n])),
      )
      expect(answers.flat()).toMatchObject(Array.from({ length: 16 }, (_, n) => ({ n })))
    }
  })

  test('through PgBouncer, the idle timeout is set for the transaction and not for the session', async () => {
    const bouncer = await newPgBouncer({ default_pool_size: 1 })
    const connection = bouncer.url(url)
    const db = databaseOf(connection)
    const asked = gate<unknown>()
    await db.transaction(async (tx) => {
      await tx.query(`select set_config('idle_in_transaction_session_timeout', '12345', true)`, [])
      asked.open(await tx.query('show idle_in_transaction_session_timeout', []))
    })
    expect(await asked.opened).toEqual([{ idle_in_transaction_session_timeout: '12345ms' }])
    expect(await db.query('show idle_in_transaction_session_timeout', [])).toEqual([
      { idle_in_transaction_session_timeout: '0' },
    ])
  })

  // Some versions of PgBouncer crash at such requests.
  test('through PgBouncer, a statement that is given up at its deadline causes no cancel request', async () => {
    const bouncer = await newPgBouncer()
    const db = databaseOf(bouncer.url(url), { poolSize: 3, deadlineMs: 2_000 })
    const givenUp = await Promise.allSettled([1, 2, 3].map(() => db.query('select pg_sleep(4)', [])))
    const noAnswer = { status: 'rejected', reason: { name: 'DeadlineError' } }
    expect(givenUp).toMatchObject([noAnswer, noAnswer, noAnswer])
    // Answered after everything that was sent before it.
    expect(await db.query('select 1 as one', [])).toEqual([{ one: 1 }])
    const requests = bouncer.said().match(/cancel request/g) ?? []
    // One in a thousand sessions of PgBouncer has a number that could be a process id.
    expect(requests.length).toBeLessThanOrEqual(1)
  })
})
