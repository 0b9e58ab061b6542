import { expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { call, openConsole, tokens } from '../console/scene.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { form } from '../support/form.ts'
import { createLedger } from '../support/ledger.ts'
import { endLease, startWorker } from '../support/worker-process.ts'

const kills = form === 'short' ? 3 : 20
const jobs = 5_000

test('every job that ended is counted once, even if workers are killed while they settle', async () => {
  const db = await createTestDatabase()
  const stint = new Stint({ connection: db.url })
  const ledger = await createLedger()
  const job = { kind: 'counted', queue: 'counted', retry: { attempts: 2, backoff: ['1ms'] } }
  const options = {
    connection: db.url,
    queues: { counted: 20 },
    lease: '20s',
    sweepEvery: '200ms',
    crashLimit: 100,
  }
  const start = (name: string) => startWorker(ledger, { name, jobs: [job], options, isTerse: true })
  const inputs = Array.from({ length: jobs }, (_, n) =>
    n % 10 < 2 ? { act: 'fail', failure: n % 10 === 0 ? 'permanent' : 'unknown' } : { act: 'return' },
  )
  const ended = async (): Promise<number> => {
    const [row] = await db.query<{ ended: number }>(
      `select (select count(*) from stint.finished)::int + (select count(*) from stint.dead)::int as ended`,
    )
    return row?.ended ?? 0
  }

  let victim = await start('worker 0')
  await stint.enqueueMany(defineJob(job), inputs)
  for (let kill = 1; kill <= kills; kill++) {
    const next = start(`worker ${kill}`)
    await eventually(async () => {
      expect(await ended()).toBeGreaterThan((jobs * 0.8 * kill) / (kills + 1))
    })
    victim.signal('SIGKILL')
    await endLease(db, victim)
    victim = await next
  }
  await eventually(async () => {
    expect(await ended()).toBe(jobs)
  })
  victim.signal('SIGTERM')
  await victim.exited

  const [stored] = await db.query<{ succeeded: number; dead: number; failed: number; lost: number }>(
    `select (select count(*)::int from stint.finished) as succeeded,
            (select count(*)::int from stint.dead) as dead,
            (select count(*)::int from stint.attempt where outcome = 'failed') - (select count(*)::int from stint.dead) as failed,
            (select count(*)::int from stint.attempt where outcome = 'lease-lost') as lost`,
  )
  expect(stored?.succeeded).toBe(jobs * 0.8)
  const { series } = await stint.stats({ queue: 'counted' })
  const { succeeded, dead, failed, lost: leaseExpired } = stored ?? {}
  expect(series).toMatchObject([{ succeeded, dead, failed, leaseExpired }])

  const served = openConsole(db.url)
  const viewer = { token: tokens.viewer.token }
  const { body } = await call(served, 'GET /v1/queues/counted', viewer)
  expect((body['spark'] as number[]).reduce((sum, count) => sum + count, 0)).toBe(jobs)
  const { text } = await call(served, 'GET /metrics', viewer)
  const labels = '{queue="counted",kind="counted"}'
  expect(text).toContain(`stint_jobs_succeeded_total${labels} ${succeeded}\n`)
  expect(text).toContain(`stint_jobs_dead_total${labels} ${dead}\n`)
  await stint.close()
  await db.drop()
})
