import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { connectTo, waitingForLocks } from '../support/database.ts'
import { isOutOf, lane } from '../support/lane.ts'
import { attemptsOf, eventually, gate, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** A login without superuser rights, so that limits apply to it. */
async function newLogin(): Promise<{ name: string; url: string }> {
  const name = `login_${randomUUID().slice(0, 8)}`
  await scene.db.query(`create role ${name} login password 'first'`)
  await scene.db.query(`grant usage on schema stint to ${name}`)
  await scene.db.query(`grant all on all tables in schema stint to ${name}`)
  await scene.db.query(`grant execute on all functions in schema stint to ${name}`)
  const url = new URL(scene.db.url)
  url.username = name
  url.password = 'first'
  return { name, url: url.href }
}

/** Long enough for a busy machine: a heartbeat must be answered within a sixth of it, and comes every third of it. */
const leaseMs = 9_000

describe.skipIf(isOutOf('pgbouncer', 'PgBouncer has its own limits and passwords'))(
  'a worker with its own login',
  () => {
    test('a worker whose login gets no more connections keeps its heartbeat and lease, and works again afterwards', async () => {
      const { name, url } = await newLogin()
      const job = newJob('full')
      const open = gate()
      let wasAborted = false
      const worker = await startFor(
        scene,
        job,
        async (_input, ctx) => {
          await open.opened
          wasAborted = ctx.signal.aborted
          return 'done'
        },
        { connection: url, notify: false, lease: leaseMs, sweepEvery: '200ms' },
      )
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('started', id)
      await eventually(async () => {
        const rows = await scene.db.query(
          `select 1 from pg_stat_activity where usename = $1 and application_name = 'stint heartbeat'`,
          [name],
        )
        return rows.length === 1
      }, 'the heartbeat is connected before it is needed')
      await scene.db.query(`alter role ${name} connection limit 1`)
      await scene.db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where usename = $1 and application_name <> 'stint heartbeat'`,
        [name],
      )
      const renewals = async (): Promise<string> => {
        const [row] = await scene.db.query<{ at: string }>(
          'select renewed_at::text as at from stint.worker where id = $1',
          [worker.worker.id],
        )
        return row?.at ?? ''
      }
      const seen = new Set<string>()
      // Heartbeats for more than a lease, while no other connection is available.
      await eventually(async () => seen.add(await renewals()).size >= 5, 'heartbeats go on')
      expect(worker.told('trouble').some(({ error }) => (error as { code?: string }).code === '53300')).toBe(
        true,
      )
      await scene.db.query(`alter role ${name} connection limit -1`)
      open.open(undefined)
      await worker.hears('succeeded', id)
      expect(wasAborted).toBe(false)
      expect(worker.told('workerLost')).toEqual([])
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, crashes: 0 })
    })

    test('a worker whose password is changed waits, and goes on when it is changed back', async () => {
      const { name, url } = await newLogin()
      const job = newJob('rotated')
      const worker = await startFor(scene, job, () => 'done', {
        connection: url,
        notify: false,
        lease: leaseMs,
      })
      await scene.db.query(`alter role ${name} password 'second'`)
      await scene.db.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
        name,
      ])
      const { id } = await scene.stint.enqueue(job)
      await worker.tells('trouble', ({ error }) => (error as { code?: string }).code === '28P01')
      await scene.db.query(`alter role ${name} password 'first'`)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, crashes: 0 })
    })
  },
)

test('a hundred handlers inside ctx.tx do not keep other jobs from settling, and no lease is lost', async () => {
  const slow = newJob('slow')
  const quick = newJob('quick')
  await scene.db.query('create table effect (job uuid primary key)')
  const { startWorker } = await import('../support/workers.ts')
  const worker = await startWorker(
    scene,
    { lease: leaseMs, sweepEvery: '200ms', queues: { [slow.queue]: 100, [quick.queue]: 5 } },
    (one) => {
      one.handle(slow, (_input, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query('insert into effect (job) values ($1)', [ctx.jobId])
          await tx.query('select pg_sleep(0.1)', [])
        }),
      )
      one.handle(quick, () => 'quick')
    },
  )
  const { jobs } = await scene.stint.enqueueMany(slow, Array.from({ length: 100 }).keys())
  await worker.tells('started', ({ kind }) => kind === 'slow', 100)
  const settledAt: number[] = []
  for (let n = 0; n < 10; n++) {
    const sentAt = performance.now()
    const { id } = await scene.stint.enqueue(quick)
    await worker.hears('succeeded', id)
    settledAt.push(performance.now() - sentAt)
  }
  expect(Math.max(...settledAt)).toBeLessThan(leaseMs)
  for (const { id } of jobs) await worker.hears('succeeded', id)
  expect(worker.told('leaseLost')).toEqual([])
  expect(worker.told('workerLost')).toEqual([])
  expect(worker.told('released')).toEqual([])
  const [row] = await scene.db.query('select count(*)::integer as effects from effect')
  expect(row).toEqual({ effects: 100 })
  for (const { id } of jobs.slice(0, 3)) expect(await attemptsOf(scene, id)).toEqual([])
})

describe('a call of Database', () => {
  /** Enough for a new connection on a busy machine. */
  const deadlineMs = 2_000

  function database(url: string, ms: number): Database {
    return new Database({ url, schema: 'stint', poolSize: 1, deadlineMs: ms, applicationName: 'stint test' })
  }

  test('a call that finds all connections in use gives up at its deadline, without having sent anything', async () => {
    const db = database(scene.db.url, deadlineMs)
    const release = gate()
    const held = db.transaction(() => release.opened)
    const late = await db.query('select 1', []).catch((error: unknown) => error)
    expect(String(late)).toMatch(/timeout/)
    release.open(undefined)
    await held
    await db.close()
  })

  test.each(['a statement', 'a statement of a transaction', 'rows of COPY'] as const)(
    'a call whose %s gets no answer gives up at its deadline and closes its connection',
    async (what) => {
      const db = database(scene.db.url, deadlineMs)
      const table = `locked_${randomUUID().slice(0, 8)}`
      await scene.db.query(`create table ${table} (n integer)`)
      const client = await connectTo(scene.db.url)
      await client.query(`begin; lock table ${table}`)
      const calls = {
        'a statement': () => db.query(`select n from ${table}`, []),
        'a statement of a transaction': () => db.transaction((tx) => tx.query(`select n from ${table}`, [])),
        'rows of COPY': () => db.copy(`copy ${table} (n) from stdin`, '1\n'),
      }
      await expect(calls[what]()).rejects.toThrow(`No answer from the database within ${deadlineMs} ms`)
      // The only connection was closed, and a new one is opened.
      expect(await db.query('select 1 as one', [])).toEqual([{ one: 1 }])
      // A pooler in between does not pass the cancel request on.
      if (lane !== 'pgbouncer') {
        const hasEnded = async (): Promise<boolean> => (await waitingForLocks(scene.db)) === 0
        await eventually(hasEnded, 'the end of what was given up')
      }
      await client.query('rollback')
      await db.close()
    },
  )
})
