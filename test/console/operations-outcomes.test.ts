import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { newJob, newName, startFor, workerScene } from '../support/workers.ts'
import { operationsIn, sum } from './operations-scene.ts'

const scene = workerScene()
const { ana, deadLetters, buryAll, executor, replay, until, ended } = operationsIn(scene)

describe('the canary of an operation', () => {
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
})

describe('the outcomes of replayed jobs', () => {
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
})
