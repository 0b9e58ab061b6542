import { describe, expect, test } from 'vitest'
import type { Operation } from '../../src/index.ts'
import { bury } from '../support/dead-letters.ts'
import { newJob, workerScene } from '../support/workers.ts'
import { operationsIn, sum } from './operations-scene.ts'

const scene = workerScene()
const { ana, deadLetters, executor, replay, ended } = operationsIn(scene)

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
