import { expect, test } from 'vitest'
import { holdRunningSql } from '../../src/jobs/attempt/hold-running.sql.ts'
import type { PgTransaction } from '../../src/db/foreign-tx.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { attemptsOf, eventually, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Ends the session of a transaction, as a restart of the server or of a pooler does. */
async function cut(tx: PgTransaction): Promise<void> {
  const { rows } = await tx.query('select pg_backend_pid() as pid', [])
  await scene.db.query('select pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid])
}

test('a connection that breaks inside ctx.tx is not a failure of the handler: the block runs again', async () => {
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

test('a connection that breaks inside ctx.tx three times is a failure of the handler', async () => {
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

test('a COMMIT whose outcome stays unknown for a lease is not a failure of the handler: the job is given back', async () => {
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
          // From here on, no query can find out whether the row of the job is still held.
          cutAtCommit = proxy.cutNext({ text: 'commit', when: 'before' })
          heal = proxy.cutEvery(statementMarks(holdRunningSql))
        }
        return tx.query('select 1', []).then(() => ({ done: true }))
      }),
    // Long enough for heartbeats on a busy machine: a lease at risk would be another reason to give the job back.
    { lease: '10s', connection: proxy.url },
  )
  const { id } = await scene.stint.enqueue(job, {}, { attempts: 1 })
  await worker.hears('released', id)
  await cutAtCommit
  heal?.()
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, result: { done: true } })
  expect(await attemptsOf(scene, id)).toMatchObject([
    { outcome: 'released', reason: 'the database did not answer ctx.tx, ctx.once, ctx.limit or a step' },
  ])
})

test('a block of ctx.tx that sends nothing for longer than a lease is ended by the server, and its attempt fails', async () => {
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
