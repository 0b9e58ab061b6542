import { expect, test } from 'vitest'
import { holdRunningSql } from '../../src/jobs/attempt/hold-running.sql.ts'
import type { PgTransaction } from '../../src/db/foreign-tx.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { attemptsOf, eventually, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Ends the session that a transaction runs in, as a restart of the server or of a pooler does. */
async function cut(tx: PgTransaction): Promise<void> {
  const { rows } = await tx.query('select pg_backend_pid() as pid', [])
  await scene.db.query('select pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid])
}

test('a connection of ours that breaks under the statements of a handler is no failure of it: the block runs again', async () => {
  const job = newJob('cut')
  let runs = 0
  const worker = await startFor(scene, job, (_input, ctx) =>
    ctx.tx(async (tx) => {
      if (++runs === 1) await cut(tx)
      await tx.query('select 1', [])
      return { runs }
    }),
  )
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, result: { runs: 2 } })
  expect(await attemptsOf(scene, id)).toEqual([])
})

test('one that breaks each time is the doing of the handler after three times, and counted', async () => {
  const job = newJob('always')
  let runs = 0
  const worker = await startFor(scene, job, (_input, ctx) =>
    ctx.tx(async (tx) => {
      runs++
      await cut(tx)
      await tx.query('select 1', [])
    }),
  )
  const { id } = await scene.stint.enqueue(job, {}, { attempts: 1 })
  await worker.hears('dead', id)
  expect(runs).toBe(3)
})

test('a COMMIT whose fate the database does not tell within a lease is no failure of the handler: the job is given back', async () => {
  const job = newJob('fate')
  const proxy = await startFaultProxy(scene.db.url)
  let heal: (() => void) | undefined
  let cutAtCommit: Promise<void> | undefined
  const worker = await startFor(
    scene,
    job,
    (_input, ctx) =>
      ctx.tx((tx) => {
        if (heal === undefined) {
          // From here on nobody is told whether the job's row is still held.
          cutAtCommit = proxy.cutNext({ text: 'commit', when: 'before' })
          heal = proxy.cutEvery(statementMarks(holdRunningSql))
        }
        return tx.query('select 1', []).then(() => ({ done: true }))
      }),
    // Long enough for heartbeats that a busy machine delays: a lease at risk would be another reason.
    { lease: '10s', connection: proxy.url },
  )
  const { id } = await scene.stint.enqueue(job, {}, { attempts: 1 })
  await worker.hears('released', id)
  await cutAtCommit
  heal?.()
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, result: { done: true } })
  expect(await attemptsOf(scene, id)).toMatchObject([
    { outcome: 'released', reason: 'the database did not answer ctx.tx or ctx.once' },
  ])
})

test('a block that says nothing for longer than a lease is ended by the server, and that is a failure', async () => {
  const job = newJob('idle')
  let runs = 0
  const worker = await startFor(
    scene,
    job,
    (_input, ctx) =>
      ctx.tx(async (tx) => {
        runs++
        const { rows } = await tx.query('select pg_backend_pid() as pid', [])
        const { pid } = rows[0] as { pid: number }
        await eventually(
          async () =>
            (await scene.db.query('select 1 from pg_stat_activity where pid = $1', [pid])).length === 0,
          'the server ends the session',
        )
        await tx.query('select 1', [])
      }),
    { lease: '6s' },
  )
  const { id } = await scene.stint.enqueue(job, {}, { attempts: 1 })
  await worker.hears('dead', id)
  expect(runs).toBe(1)
})
