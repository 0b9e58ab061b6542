import { fork } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startOperationsWorker } from '../../src/worker/operations-worker.ts'
import { defineJob } from '../../src/index.ts'
import type { JobContract, Operation, OperationState, StartOptions } from '../../src/index.ts'
import { bury } from '../support/dead-letters.ts'
import { lane } from '../support/lane.ts'
import { eventually, newJob, newName, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()
const group = 'b02c9e51b02c9e51'

/** Enqueues jobs and turns all of them into dead letters with one statement. */
async function deadLetters(contract: JobContract, count: number, fingerprint = group): Promise<string[]> {
  const { jobs } = await scene.stint.enqueueMany(
    contract,
    Array.from({ length: count }, (_, n) => ({ n })),
  )
  await buryAll(contract.queue, fingerprint)
  return jobs.map(({ id }) => id)
}

async function buryAll(queue: string, fingerprint = group): Promise<void> {
  await scene.db.query(
    `with gone as (delete from stint.job where queue = $1 returning *)
     insert into stint.dead (id, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version, created_at,
                             run_at, search, options, input, unique_key, reason, fingerprint)
     select id, queue, kind, key, priority, 5, max_attempts, 0, 7, version, created_at, run_at, search, options, input,
            unique_key, 'exhausted', $2
       from gone`,
    [queue, fingerprint],
  )
}

async function executor(options: { undecidedMs?: number } = {}): Promise<void> {
  const worker = await startOperationsWorker({ connection: scene.db.url, ...options })
  onTestFinished(() => worker.stop())
}

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

/** Starts a replay of all dead letters of a contract. */
function replay(contract: JobContract, options: Omit<StartOptions, 'action' | 'where'>): Promise<Operation> {
  return ana().operations.start({ action: 'replay', where: `queue:${contract.queue}`, ...options })
}

const over: readonly OperationState[] = ['done', 'stopped', 'aborted', 'paused']

async function until(id: string, test: (operation: Operation) => boolean): Promise<Operation> {
  let last: Operation | undefined
  await eventually(async () => {
    last = await scene.stint.operations.get(id)
    return last !== undefined && test(last)
  }, `operation ${id}`)
  if (last === undefined) throw new Error('no operation')
  return last
}

function ended(id: string): Promise<Operation> {
  return until(id, ({ state }) => over.includes(state))
}

function sum({ acted, skipped, failed, untouched }: Operation): number {
  return acted + skipped + failed + (untouched ?? Number.NaN)
}

const ana = () => scene.stint.as({ actor: 'ana', role: 'operator', origin: 'dashboard' })

describe('a preview', () => {
  test('a preview counts the matches, shows five, says what it leaves out, and changes nothing', async () => {
    const contract = newJob()
    const ids = await deadLetters(contract, 30)
    await scene.stint.dead.discard(ids[0] ?? '')
    await scene.stint.dead.discard(ids[1] ?? '')
    await scene.stint.dead.replay(ids[2] ?? '', { contract, input: {} })
    const preview = await scene.stint.operations.preview({
      action: 'replay',
      where: `queue:${contract.queue}`,
    })
    expect(preview).toMatchObject({
      action: 'replay',
      matched: { count: 27, isExact: true },
      excluded: [
        { reason: 'in the trash', count: 2 },
        { reason: 'edited into another job', count: 1 },
      ],
      canary: 3,
      pace: null,
      stopIf: { sameError: 20, anyFailure: null },
      cli: `stint dead replay --where queue:${contract.queue} --canary 3 --stop-if 'same>20%' --pace max --reason …`,
    })
    expect(preview.samples).toHaveLength(5)
    expect(preview.samples[0]).toMatchObject({ state: 'dead', error: { group } })
    expect((await scene.stint.search({ where: `queue:${contract.queue} state:dead` })).jobs).toHaveLength(27)
  })

  test('a preview of more than a hundred jobs proposes a canary and a pace', async () => {
    const contract = newJob()
    await deadLetters(contract, 101)
    const preview = await scene.stint.operations.preview({
      action: 'replay',
      where: `queue:${contract.queue}`,
    })
    expect(preview).toMatchObject({ canary: 10, pace: 20 })
    expect(preview.cli).toBe(
      `stint dead replay --where queue:${contract.queue} --canary 10 --stop-if 'same>20%' --pace 20/s --reason …`,
    )
  })

  test('a preview without canary and pace keeps both at none, also for more than a hundred jobs', async () => {
    const contract = newJob()
    await deadLetters(contract, 101)
    const preview = await scene.stint.operations.preview({
      action: 'replay',
      where: `queue:${contract.queue}`,
      canary: 0,
      pace: null,
    })
    expect(preview).toMatchObject({ canary: 0, pace: null })
    expect(preview.cli).toBe(
      `stint dead replay --where queue:${contract.queue} --canary 0 --pace max --reason …`,
    )
  })

  test.each([
    [{ action: 'replay', where: 'queue:a', asOf: new Date(Number.NaN) }, '`asOf`'],
    [{ action: 'replay', where: '' }, 'an empty one would mean every job'],
    [{ action: 'replay', where: 'state:ready' }, 'the filter names others'],
    [{ action: 'replay', where: 'is:discarded' }, 'in the trash'],
    [{ action: 'cancel', where: 'error:b02c' }, 'about live jobs'],
    [{ action: 'cancel', where: 'queue:a', canary: 5 }, 'only replayed jobs'],
    [{ action: 'reprioritize', where: 'queue:a' }, '`priority`'],
    [{ action: 'replay' }, '`ids`'],
    [{ action: 'replay', ids: ['x'] }, '1 to 1,000 job ids'],
    [{ action: 'replay', where: 'queue:a sate:x' }, 'Unknown filter'],
    [{ action: 'replay', where: 'queue:a', pace: 0 }, 'jobs a second'],
    [{ action: 'explode', where: 'queue:a' }, "'replay'"],
  ])('the preview refuses %j', async (options, message) => {
    await expect(scene.stint.operations.preview(options as never)).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining(message) as string,
    })
  })
})

describe('an operation', () => {
  test('an operation takes no job that dies after its start, even if `asOf` is in the future', async () => {
    const contract = newJob()
    await deadLetters(contract, 1)
    const asOf = new Date(Date.now() + 3_600_000)
    const where = `queue:${contract.queue}`
    const started = await ana().operations.start({ action: 'discard', where, asOf, reason: 'too early' })
    expect(started.frozenAt.getTime()).toBeLessThan(asOf.getTime() - 3_000_000)
  })

  test('an operation replays each match once, and the audit has an entry of it', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    const ids = await deadLetters(contract, 40)
    const { id } = await ana().operations.start({
      action: 'replay',
      where: `error:b02c queue:${contract.queue}`,
      canary: 0,
      reason: 'fixed in v215',
    })
    const done = await ended(id)
    expect(done).toMatchObject({
      state: 'done',
      matched: 40,
      acted: 40,
      skipped: 0,
      failed: 0,
      untouched: 0,
      actor: 'ana',
      reason: 'fixed in v215',
    })
    expect(
      (await scene.stint.search({ where: `queue:${contract.queue} state:ready`, limit: 200 })).jobs
        .map((job) => job.id)
        .sort(),
    ).toEqual([...ids].sort())
    const { entries } = await scene.stint.audit.list({ actor: 'ana', action: 'operation.replay' })
    expect(entries[0]).toMatchObject({
      operationId: id,
      reason: 'fixed in v215',
      outcome: 'done',
      after: { matched: 40 },
    })
  })

  test('an operation discards, restores, replays by ids, reprioritizes, makes due and cancels', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    const ids = await deadLetters(contract, 3)
    const run = async (
      options: Parameters<ReturnType<typeof ana>['operations']['start']>[0],
    ): Promise<Operation> => ended((await ana().operations.start(options)).id)
    const where = `queue:${contract.queue}`
    expect(await run({ action: 'discard', where, reason: 'noise' })).toMatchObject({
      state: 'done',
      acted: 3,
    })
    expect(await run({ action: 'restore', where, reason: 'not noise' })).toMatchObject({
      state: 'done',
      acted: 3,
    })
    expect(await run({ action: 'replay', ids, canary: 0, reason: 'again' })).toMatchObject({
      state: 'done',
      acted: 3,
      ids: 3,
      where: null,
    })
    expect(await run({ action: 'reprioritize', where, priority: 9, reason: 'soon' })).toMatchObject({
      acted: 3,
    })
    expect((await scene.stint.search({ where: `${where} priority:9` })).jobs).toHaveLength(3)
    await scene.stint.enqueueMany(contract, [{}, {}], { delay: '1h' })
    expect(await run({ action: 'run-now', where, reason: 'soon' })).toMatchObject({ acted: 2 })
    expect(await run({ action: 'cancel', where, reason: 'enough' })).toMatchObject({ acted: 5 })
    expect((await scene.stint.search({ where: `${where} state:cancelled reason:enough` })).jobs).toHaveLength(
      5,
    )
    expect(await run({ action: 'cancel', where, reason: 'again' })).toMatchObject({
      state: 'done',
      matched: 0,
      note: 'Nothing matched.',
    })
  })

  test('an operation skips the jobs that changed since it was started, and says why', async () => {
    const contract = newJob()
    const ids = await deadLetters(contract, 8)
    const { id } = await replay(contract, {
      canary: 0,
      reason: 'fixed',
    })
    await scene.stint.dead.replay(ids[0] ?? '')
    await scene.stint.dead.discard(ids[1] ?? '')
    await scene.stint.dead.replay(ids[2] ?? '', { contract, input: {} })
    await scene.db.query('delete from stint.dead where id = $1', [ids[3]])
    await scene.db.query(`update stint.dead set died_at = now() + interval '1 minute' where id = $1`, [
      ids[4],
    ])
    const later = await deadLetters(newJob(), 1)
    await executor({ undecidedMs: 1 })
    const done = await ended(id)
    expect(done).toMatchObject({
      state: 'done',
      matched: 8,
      acted: 3,
      skipped: 5,
      skippedBy: {
        'is ready': 1,
        'is in the trash': 1,
        'was edited into another job': 1,
        'is not there any more': 1,
        'died again meanwhile': 1,
      },
    })
    expect(sum(done)).toBe(8)
    expect(await scene.stint.get(later[0] ?? '')).toMatchObject({ state: 'dead' })
  })

  test('an operation skips dead letters whose unique key a live job holds', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    const first = await scene.stint.enqueue(contract, {}, { unique: { key: 'one' } })
    await bury(scene.db, first.id)
    const second = await scene.stint.enqueue(contract, {}, { unique: { key: 'one' } })
    await bury(scene.db, second.id)
    const other = await scene.stint.enqueue(contract, {}, { unique: { key: 'two' } })
    await bury(scene.db, other.id)
    await scene.stint.enqueue(contract, {}, { unique: { key: 'two' } })
    const { id } = await replay(contract, {
      canary: 0,
      reason: 'x',
    })
    expect(await ended(id)).toMatchObject({
      acted: 1,
      skipped: 2,
      skippedBy: { 'another job has its unique key': 2 },
    })
  })

  test('an operation stops when its canary fails with the same error', async () => {
    await executor()
    const contract = newJob()
    const count = 60
    // The error that the jobs really fail with, so that they fall into the same group.
    const worker = await startFor(scene, contract, () => {
      throw Object.assign(new Error('do not honor'), { name: 'CardDeclined' })
    })
    const probe = await scene.stint.enqueue(contract, {})
    await worker.hears('dead', probe.id)
    const fingerprint = (await scene.stint.dead.get(probe.id))?.fingerprint ?? ''
    await worker.worker.stop()
    const ids = await deadLetters(contract, count, fingerprint)
    await startFor(scene, contract, () => {
      throw Object.assign(new Error('do not honor'), { name: 'CardDeclined' })
    })
    const { id } = await ana().operations.start({
      action: 'replay',
      where: `error:${fingerprint.slice(0, 8)} queue:${contract.queue}`,
      canary: 6,
      reason: 'hope',
    })
    const stopped = await ended(id)
    expect(stopped).toMatchObject({
      state: 'stopped',
      matched: count + 1,
      acted: 6,
      note: expect.stringContaining('the error they had died of') as string,
    })
    expect(stopped.canaryResult?.sameError).toBeGreaterThan(1)
    expect(sum(stopped)).toBe(count + 1)
    // The canary is spread over all jobs; it does not take the oldest or the newest.
    const chosen = await scene.db.query<{ id: string }>(
      'select id from stint.operation_job where operation_id = $1 and is_canary order by id',
      [id],
    )
    const places = chosen.map((one) => [probe.id, ...ids].sort().indexOf(one.id))
    expect(places).toEqual(Array.from({ length: 6 }, (_, n) => Math.floor((n * (count + 1)) / 6)))
  })

  test('a canary takes jobs of as many keys and kinds as fit into it', async () => {
    await executor()
    const contract = newJob()
    const other = defineJob({ kind: 'rare', queue: contract.queue })
    const keyOf = (n: number): string => (n % 10 === 0 ? `small-${n}` : 'large')
    for (let n = 0; n < 100; n++) await scene.stint.enqueue(contract, { n }, { key: keyOf(n) })
    for (let n = 0; n < 20; n++) await scene.stint.enqueue(other, { n }, { key: 'large' })
    await buryAll(contract.queue)
    const { id } = await replay(contract, {
      canary: 6,
      reason: 'fixed',
    })
    await until(id, ({ state, acted }) => state === 'canary' && acted === 6)
    const chosen = await scene.db.query<{ kind: string; key: string }>(
      `select kind, key from stint.operation_job join stint.job using (id) where operation_id = $1 and is_canary`,
      [id],
    )
    expect(chosen).toHaveLength(6)
    expect(new Set(chosen.map(({ key }) => key)).size).toBeGreaterThanOrEqual(5)
    expect(chosen.map(({ kind }) => kind)).toContain('rare')
    // No worker runs this canary. Without the abort it would stay in the executors of other tests.
    await ana().operations.abort(id)
  })

  test('an operation reports how many replayed jobs succeeded and how many died of the same or another error', async () => {
    await executor()
    const contract = defineJob({ kind: newName('again'), queue: newName('again'), retry: { attempts: 1 } })
    const fail = (name: string): never => {
      throw Object.assign(new Error('do not honor'), { name })
    }
    const first = await startFor(scene, contract, () => fail('CardDeclined'))
    const probe = await scene.stint.enqueue(contract, {})
    await first.hears('dead', probe.id)
    const fingerprint = (await scene.stint.dead.get(probe.id))?.fingerprint ?? ''
    await first.worker.stop()
    await scene.stint.dead.discard(probe.id)
    await deadLetters(contract, 20, fingerprint)
    await startFor(scene, contract, (input) => {
      const { n } = input as { n: number }
      if (n === 3) return fail('CardDeclined')
      if (n === 4 || n === 5) return fail('NetworkDown')
      return undefined
    })
    const { id } = await replay(contract, {
      canary: 0,
      reason: 'hope',
    })
    expect(await ended(id)).toMatchObject({
      state: 'done',
      acted: 20,
      failed: 0,
      fates: { live: 0, succeeded: 17, sameError: 1, otherError: 2, cancelled: 0 },
      note: '3 of 20 died again: 1 with the error they had died of, 2 with another.',
    })
    const { jobs } = await scene.stint.operations.jobs(id)
    expect(jobs.map(({ fate }) => fate).filter((fate) => fate !== 'succeeded')).toEqual(
      expect.arrayContaining(['same-error', 'other-error', 'other-error']),
    )
  })

  test('an operation that ramps up stops when jobs begin to die again', async () => {
    await executor()
    const contract = defineJob({ kind: newName('turns'), queue: newName('turns'), retry: { attempts: 1 } })
    await deadLetters(contract, 200)
    let ran = 0
    await startFor(scene, contract, () => {
      if (++ran > 2) throw new Error('it turned bad')
    })
    const { id } = await replay(contract, {
      reason: 'hope',
      canary: 2,
      pace: 20,
      stopIf: { anyFailure: 20 },
    })
    const stopped = await ended(id)
    expect(stopped).toMatchObject({
      state: 'stopped',
      canaryResult: { succeeded: 2 },
      note: expect.stringMatching(/^\d+ of \d+ jobs that have ended failed\.$/) as string,
    })
    expect(stopped.acted).toBeLessThan(200)
  })

  test('an operation stops watching jobs that do not end, and says how many are live', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    await deadLetters(contract, 3)
    const { id } = await replay(contract, {
      canary: 0,
      reason: 'x',
    })
    expect(await ended(id)).toMatchObject({
      state: 'done',
      fates: { live: 3, succeeded: 0 },
      note: '3 of 3 had not ended when it stopped looking.',
    })
  })

  test('an operation goes on counting when another role has spoiled the sums that it keeps in JSON', async () => {
    await executor({ undecidedMs: 1 })
    const contract = defineJob({ kind: newName('spoiled'), queue: newName('spoiled') })
    const [kept = '', gone = ''] = await deadLetters(contract, 2)
    const { id } = await replay(contract, {
      canary: 0,
      pace: 0.1,
      reason: 'x',
    })
    await until(id, ({ acted }) => acted === 1)
    await ana().operations.pause(id)
    // The newest is acted on first; the other is skipped.
    await scene.stint.cancel(gone)
    await scene.stint.dead.discard(kept)
    await scene.db.query(
      `update stint.operation
          set fates = '{"live": "many", "cancelled": [1]}', skipped_by = '{"in the trash": "x"}'
        where id = $1`,
      [id],
    )
    await ana().operations.setPace(id, null)
    await ana().operations.resume(id)
    expect(await ended(id)).toMatchObject({ state: 'done', acted: 1, skipped: 1, fates: { cancelled: 1 } })
    await scene.db.query(
      `update stint.operation
          set fates = '[1]', skipped_by = '"x"', state = 'paused', paused_in = 'ramping', finished_at = null
        where id = $1`,
      [id],
    )
    await scene.db.query(
      `update stint.operation_job
          set fate = case when id = $2 then 'live' end, outcome = case when id = $2 then outcome end
        where operation_id = $1`,
      [id, gone],
    )
    await ana().operations.resume(id)
    const done = await ended(id)
    expect(done).toMatchObject({ state: 'done', fates: { cancelled: 1 } })
    expect(Object.values(done.skippedBy)).toEqual([1])
  })

  test.each([
    [1, 0],
    [2, 1],
    [10, 1],
    [60, 6],
  ])('an operation that replays %i jobs proposes a canary of %i', async (count, canary) => {
    const contract = newJob()
    await deadLetters(contract, count)
    const what = { action: 'replay', where: `queue:${contract.queue}` } as const
    expect(await scene.stint.operations.preview(what)).toMatchObject({ canary, crashed: 0 })
    await scene.db.query(`update stint.dead set reason = 'quarantined' where queue = $1`, [contract.queue])
    expect(await scene.stint.operations.preview(what)).toMatchObject({
      canary: Math.min(1, canary),
      crashed: count,
    })
  })

  test('an operation goes on when its canary succeeds', async () => {
    await executor()
    const contract = newJob()
    await deadLetters(contract, 50)
    await startFor(scene, contract, () => undefined)
    const { id } = await replay(contract, {
      canary: 5,
      reason: 'fixed',
    })
    expect(await ended(id)).toMatchObject({
      state: 'done',
      acted: 50,
      canaryResult: { decided: 5, succeeded: 5, failed: 0, sameError: 0 },
    })
  })

  test('an operation pauses when its canary does not end, and goes on when it is resumed', async () => {
    await executor({ undecidedMs: 1 })
    const contract = newJob()
    await deadLetters(contract, 5)
    const { id } = await replay(contract, {
      canary: 2,
      reason: 'x',
    })
    expect(await ended(id)).toMatchObject({
      state: 'paused',
      acted: 2,
      note: expect.stringContaining('have not ended') as string,
    })
    const worker = await startFor(scene, contract, () => undefined)
    await worker.tells('succeeded', () => true, 2)
    await ana().operations.resume(id, { reason: 'they ran' })
    expect(await until(id, ({ state }) => state === 'done')).toMatchObject({ acted: 5, untouched: 0 })
  })

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

  test('an operation never acts on more jobs than `max`, whether the count or the run exceeds it', async () => {
    await executor()
    const contract = newJob()
    // More jobs than the preview counts.
    const count = 12_000
    await deadLetters(contract, count)
    const where = `queue:${contract.queue}`
    const preview = await scene.stint.operations.preview({ action: 'discard', where })
    // How far the preview counts within its second depends on the machine.
    expect(preview.matched).toMatchObject({ isExact: false })
    expect(preview.matched.count).toBeLessThanOrEqual(10_000)
    await expect(
      ana().operations.start({ action: 'discard', where, max: 1_000, reason: 'x' }),
    ).rejects.toMatchObject({
      code: 'too-many-matches',
    })
    const [refused] = (await scene.stint.audit.list({ target: where })).entries
    expect(refused).toMatchObject({
      action: 'operation.discard',
      outcome: 'refused',
      after: { refused: 'too-many-matches' },
    })
    const tooFew = await ana().operations.start({ action: 'discard', where, max: 11_000, reason: 'x' })
    expect(await ended(tooFew.id)).toMatchObject({
      state: 'stopped',
      acted: 0,
      note: expect.stringContaining('More than 11000') as string,
    })
    const enough = await ana().operations.start({ action: 'discard', where, max: 30_000, reason: 'x' })
    const done = await ended(enough.id)
    expect(done).toMatchObject({ state: 'done', matched: count, acted: count, untouched: 0 })
    expect(sum(done)).toBe(count)
  })

  test('an operation that is sent again with the same intent starts once', async () => {
    const contract = newJob()
    await deadLetters(contract, 2)
    const intentId = '7d9f2a4e-1111-4222-8333-444455556666'
    const start = () =>
      ana().operations.start({ action: 'discard', where: `queue:${contract.queue}`, reason: 'x', intentId })
    const [first, second] = await Promise.all([start(), start()])
    expect(second.id).toBe(first.id)
    expect((await start()).id).toBe(first.id)
  })

  test('an operation can be listed page by page, and one that does not exist is refused', async () => {
    expect(await scene.stint.operations.get('019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f')).toBeUndefined()
    await expect(ana().operations.abort('019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f')).rejects.toMatchObject({
      code: 'operation-not-found',
    })
    const page = await scene.stint.operations.list({
      limit: 1,
      state: ['done', 'aborted', 'stopped', 'pending'],
    })
    expect(page.operations).toHaveLength(1)
    expect(page.next).toBeDefined()
    const next = await scene.stint.operations.list({ limit: 1, cursor: page.next })
    expect(next.operations[0]?.id).not.toBe(page.operations[0]?.id)
  })
})

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
