import { describe, expect, test } from 'vitest'
import type { MissedPolicy } from '../src/index.ts'
import { given, job, schedulesScene } from './schedules-scene.ts'
import { eventually, newName, startWorker } from './support/workers.ts'

const scene = schedulesScene()
const { firesOf, outcomesOf, ticked, toMinute } = scene

describe('a fire', () => {
  test('a fire makes one job, as the contract says, with the stored input', async () => {
    await toMinute()
    const { name } = await scene.stint.schedules.set(given({ options: { key: 'acme', timeout: '10s' } }))
    expect((await ticked()).fired.filter(({ schedule }) => schedule === name)).toEqual([])
    await toMinute()
    await ticked()
    await ticked()
    const [fire, ...others] = await firesOf(name)
    expect(others).toEqual([])
    expect(fire).toMatchObject({ outcome: 'fired', reason: null })
    expect(fire?.fireAt.getUTCSeconds()).toBe(0)
    expect(await scene.stint.get(fire?.jobId ?? '')).toMatchObject({
      kind: 'report.send',
      queue: 'reports',
      priority: 7,
      maxAttempts: 3,
      key: 'acme',
      state: 'ready',
      input: { a: 1 },
      search: { schedule: name },
    })
    await scene.stint.schedules.delete(name)
  })

  test('a fire happens once, however many schedulers decide about it at the same moment', async () => {
    const { name } = await scene.stint.schedules.set(given())
    await toMinute()
    await Promise.all(Array.from({ length: 8 }, () => ticked()))
    expect(await outcomesOf(name)).toEqual(['fired'])
    await scene.stint.schedules.delete(name)
  })

  test('a fire is delayed by its jitter, which is the same in every process', async () => {
    const { name } = await scene.stint.schedules.set(given({ cron: '0 * * * * *', jitter: '30m' }))
    await toMinute()
    await ticked()
    const [fire] = await firesOf(name)
    const lateOf = async (jobId: string | null | undefined): Promise<number> => {
      const found = await scene.stint.get(jobId ?? '')
      return (found?.runAt.getTime() ?? 0) - (fire?.fireAt.getTime() ?? 0)
    }
    const late = await lateOf(fire?.jobId)
    expect(late).toBeGreaterThan(0)
    expect(late).toBeLessThan(1_800_000)
    // As another process would decide, which knows nothing of this fire.
    await scene.db.query('delete from stint.fire where schedule = $1', [name])
    await scene.db.query(
      `update stint.schedule set decided_to = decided_to - interval '1 minute', next_fire_at = $2, turn = turn + 1
        where name = $1`,
      [name, fire?.fireAt],
    )
    await ticked()
    const [again] = await firesOf(name)
    expect(again?.fireAt).toEqual(fire?.fireAt)
    expect(again?.jobId).not.toBe(fire?.jobId)
    expect(await lateOf(again?.jobId)).toBe(late)
    await scene.stint.schedules.delete(name)
  })

  test('a schedule that cannot fire stops no other, and says why', async () => {
    const bad = await scene.stint.schedules.set(given())
    const good = await scene.stint.schedules.set(given())
    await scene.db.query(`update stint.schedule set time_zone = 'Mars/Olympus' where name = $1`, [bad.name])
    await toMinute()
    const { failed } = await ticked()
    expect(failed).toMatchObject([{ schedule: bad.name }])
    expect(await outcomesOf(good.name)).toEqual(['fired'])
    expect(await scene.stint.schedules.get(bad.name)).toMatchObject({
      failures: 1,
      lastError: expect.stringContaining('Mars') as string,
    })
    // The schedule is not tried again for a while.
    expect((await ticked()).failed).toEqual([])
    await scene.stint.schedules.delete(bad.name)
    await scene.stint.schedules.delete(good.name)
  })
})

describe('schedules in code', () => {
  const policy: MissedPolicy = 'skip'

  test('schedules in code are stored when a worker starts, change with it, and fire only while a live worker has them', async () => {
    const name = newName('code')
    const begin = (cron: string): ReturnType<typeof startWorker> =>
      startWorker(scene, { queues: { reports: 1 }, version: 'v1' }, (worker) =>
        worker.handle(job, () => undefined).schedule(given({ name, cron, missed: policy })),
      )
    const first = await begin('0 0 1 1 *')
    expect(await scene.stint.schedules.get(name)).toMatchObject({
      source: 'code',
      appVersion: 'v1',
      rule: '0 0 1 1 *',
      isOrphan: false,
    })
    await expect(scene.stint.schedules.delete(name)).rejects.toMatchObject({ code: 'state-changed' })
    await first.worker.stop()
    expect(await scene.stint.schedules.get(name)).toMatchObject({ isOrphan: true })
    const second = await begin('* * * * *')
    expect(await scene.stint.schedules.get(name)).toMatchObject({ rule: '* * * * *', isOrphan: false })
    await second.worker.stop()
    // No live worker has it any more: the schedule stays, and does not fire.
    await toMinute()
    await ticked()
    expect(await firesOf(name)).toEqual([])
    await scene.stint.schedules.delete(name)
  })

  test('a worker fires due schedules, and runs their jobs', async () => {
    const name = newName('live')
    const seen: unknown[] = []
    const worker = await startWorker(scene, { queues: { reports: 1 } }, (one) =>
      one
        .handle(job, (input) => void seen.push(input))
        .schedule(
          given({ name, cron: '* * * * * *', input: (fireAt: Date) => ({ at: fireAt.toISOString() }) }),
        ),
    )
    const [fired] = await worker.tells('fired', ({ schedule }) => schedule === name)
    await worker.hears('succeeded', fired?.fires[0]?.jobId ?? '')
    expect(seen).toContainEqual({ at: new Date(fired?.fires[0]?.fireAt ?? '').toISOString() })
    await worker.worker.stop()
    await eventually(
      async () => (await scene.stint.schedules.get(name))?.isOrphan === true,
      'the worker is gone',
    )
    // Without the code no worker can make its input.
    await toMinute()
    expect((await ticked()).fired.filter(({ schedule }) => schedule === name)).toEqual([])
    expect(await scene.stint.schedules.runNow(name)).toMatchObject({ action: 'asked' })
    expect((await ticked()).fired.filter(({ schedule }) => schedule === name)).toEqual([])
    await scene.stint.schedules.delete(name)
  })

  test('an input function that throws is an error of the schedule, not of the worker', async () => {
    const name = newName('throws')
    const input = (): never => {
      throw new Error('no such report')
    }
    const worker = await startWorker(scene, { queues: { reports: 1 } }, (one) =>
      one.handle(job, () => undefined).schedule(given({ name, cron: '* * * * * *', input })),
    )
    await worker.tells('scheduleFailed', ({ schedule }) => schedule === name)
    await eventually(
      async () => (await scene.stint.schedules.get(name))?.lastError === 'no such report',
      'its error is stored',
    )
    await worker.worker.stop()
    await scene.stint.schedules.delete(name)
  })

  test.each<[string, unknown, string]>([
    ['an error like a lost database’s', withCode('ECONNREFUSED'), 'code ECONNREFUSED'],
    ['an error of a server of its own', withCode('57P01'), 'code 57P01'],
    ['null', null, 'null'],
  ])(
    'an input function that throws %s stops no other schedule, and is called again',
    async (_, thrown, lastError) => {
      const input = (): never => {
        throw thrown as Error
      }
      const bad = given({ input })
      const good = given()
      await ticked([bad, good])
      await toMinute()
      expect((await ticked([bad, good])).failed).toEqual([{ schedule: bad.name, error: thrown }])
      expect(await outcomesOf(good.name)).toEqual(['fired'])
      expect(await scene.stint.schedules.get(bad.name)).toMatchObject({ failures: 1, lastError })
      await scene.clock.advance('6 seconds')
      expect((await ticked([bad])).failed).toMatchObject([{ schedule: bad.name }])
      for (const { name } of [bad, good]) await scene.stint.schedules.delete(name)
    },
  )
})

function withCode(code: string): Error {
  return Object.assign(new Error(`code ${code}`), { code })
}
