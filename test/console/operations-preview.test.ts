import { describe, expect, test } from 'vitest'
import { newJob, workerScene } from '../support/workers.ts'
import { group, operationsIn } from './operations-scene.ts'

const scene = workerScene()
const { deadLetters } = operationsIn(scene)

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
})
