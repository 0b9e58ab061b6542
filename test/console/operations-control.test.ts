import { fork } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lane } from '../support/lane.ts'
import { eventually, newJob, newName, workerScene } from '../support/workers.ts'
import { operationsIn, sum } from './operations-scene.ts'

const scene = workerScene()
const { ana, deadLetters, executor, replay, until, ended } = operationsIn(scene)

describe('an operation under way', () => {
  test('an operation that is aborted midway keeps what it has done, and its counts add up', async () => {
    await executor()
    const contract = newJob()
    await deadLetters(contract, 200)
    const { id } = await replay(contract, {
      canary: 0,
      // It would take most of a minute, so it cannot end before it is aborted.
      pace: 4,
      reason: 'x',
    })
    await until(id, ({ acted }) => acted >= 4)
    const aborted = await ana().operations.abort(id, { reason: 'wrong ones' })
    expect(aborted).toMatchObject({ state: 'aborted' })
    expect(aborted.acted).toBeGreaterThanOrEqual(4)
    expect(aborted.acted).toBeLessThan(200)
    expect(sum(aborted)).toBe(200)
    await eventually(
      async () => (await scene.stint.get(aborted.jobId))?.state === 'succeeded',
      'the end of its job',
    )
    expect(await scene.stint.operations.get(id)).toMatchObject({ state: 'aborted', acted: aborted.acted })
    expect(
      (await scene.stint.search({ where: `queue:${contract.queue} state:ready`, limit: 200 })).jobs,
    ).toHaveLength(aborted.acted)
    await expect(ana().operations.resume(id)).rejects.toMatchObject({ code: 'state-changed' })
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'operation.resume refused',
      'operation.abort done',
    ])
  })

  test('an operation can be paused, given another pace, and resumed', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    await deadLetters(contract, 100)
    const { id } = await replay(contract, {
      pace: 2,
      canary: 0,
      reason: 'x',
    })
    await until(id, ({ acted }) => acted >= 2)
    const paused = await ana().operations.pause(id)
    expect(paused).toMatchObject({ state: 'paused' })
    await ana().operations.setPace(id, null)
    await ana().operations.resume(id)
    expect(await ended(id)).toMatchObject({ state: 'done', acted: 100, pace: null })
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries.map(({ action }) => action)).toEqual([
      'operation.resume',
      'operation.pace',
      'operation.pause',
    ])
  })
})

/**
 * The executors' connections, as the server counts them. A pooler keeps idle ones, so behind a pooler only the busy ones
 * count.
 */
function executorSessions(): Promise<unknown[]> {
  return scene.db.query(
    `select from pg_stat_activity
      where datname = current_database() and application_name in ('stint worker', 'stint heartbeat', 'stint operations')
        and (state <> 'idle' or not $1)`,
    [lane === 'pgbouncer'],
  )
}

test('another executor continues after one that is killed midway, and no job is acted on twice', async () => {
  const contract = newJob()
  await deadLetters(contract, 400)
  // Each act of the operation leaves a row that no crash of an executor can take back.
  const ledger = newName('acts').replace('.', '_')
  await scene.db.query(`create table stint.${ledger} (id uuid not null)`)
  await scene.db.query(
    `create function stint.${ledger}() returns trigger language plpgsql as $$ begin insert into stint.${ledger} values (new.id); return new; end $$`,
  )
  await scene.db.query(
    `create trigger ${ledger} after insert on stint.job for each row when (new.queue = '${contract.queue}') execute function stint.${ledger}()`,
  )
  const { id } = await replay(contract, {
    canary: 0,
    // Slow enough that the operation cannot end before its executor is killed, however long that takes.
    pace: 8,
    reason: 'x',
  })
  const program = join(import.meta.dirname, 'programs/executor.mjs')
  const child = fork(program, [scene.db.url], { stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise((resolve) => child.once('message', resolve))
  await until(id, ({ acted }) => acted >= 8)
  child.kill('SIGKILL')
  await exited
  // The server still carries out what the killed process has sent: a heartbeat would renew its lease.
  await eventually(
    async () => (await executorSessions()).length === 0,
    'the end of what the executor has sent',
  )
  await scene.db.query(`update stint.worker set lease_until = now() - interval '1 minute'`)
  await executor({ undecidedMs: 1 })
  await ana().operations.setPace(id, null)
  const done = await until(id, ({ state }) => state === 'done')
  expect(done).toMatchObject({ matched: 400, acted: 400, skipped: 0, failed: 0, untouched: 0 })
  const acts = await scene.db.query(`select id, count(*)::integer as times from stint.${ledger} group by id`)
  expect(acts).toHaveLength(400)
  expect(acts.filter(({ times }) => times !== 1)).toEqual([])
})
