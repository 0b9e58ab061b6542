import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineSchedule } from '../src/index.ts'
import { given, schedulesScene } from './schedules-scene.ts'
import { bury } from './support/dead-letters.ts'
import { newName, startWorker } from './support/workers.ts'

const scene = schedulesScene()
const { firesOf, outcomesOf, ticked, toMinute } = scene

test('a schedule that is paused until a time does not fire, and nothing is made up for', async () => {
  const { name } = await scene.stint.schedules.set(given({ missed: 'all' }))
  expect(await scene.stint.schedules.pause(name, { for: '10m', reason: 'move' })).toMatchObject({
    isPaused: true,
    pauseReason: 'move',
  })
  await scene.clock.advance('9 minutes')
  await ticked()
  expect(await firesOf(name)).toEqual([])
  await scene.clock.advance('2 minutes 30 seconds')
  await ticked()
  expect((await firesOf(name)).length).toBeLessThanOrEqual(2)
  expect(await scene.stint.schedules.get(name)).toMatchObject({ isPaused: false, pauseReason: null })
  await scene.stint.schedules.delete(name)
})

test('a schedule that is paused without an end fires again from its resume on', async () => {
  const { name } = await scene.stint.schedules.set(given({ missed: 'all' }))
  expect(await scene.stint.schedules.pause(name)).toMatchObject({ isPaused: true, nextFireAt: null })
  expect(await scene.stint.schedules.next(name)).toEqual([])
  await scene.clock.advance('1 hour')
  await scene.stint.schedules.resume(name)
  await toMinute()
  await ticked()
  expect(await outcomesOf(name)).toEqual(['fired'])
  await scene.stint.schedules.delete(name)
})

test('a schedule that is changed while paused until a time fires from that time on', async () => {
  const schedule = given()
  await scene.stint.schedules.set(schedule)
  await scene.stint.schedules.pause(schedule.name, { for: '10m' })
  await scene.stint.schedules.set(given({ name: schedule.name, cron: '*/2 * * * *' }))
  await scene.clock.advance('5 minutes')
  await ticked()
  expect(await firesOf(schedule.name)).toEqual([])
  expect(await scene.stint.schedules.get(schedule.name)).toMatchObject({ isPaused: true })
  await scene.clock.advance('8 minutes')
  await ticked()
  expect(await outcomesOf(schedule.name)).toContain('fired')
  await scene.stint.schedules.delete(schedule.name)
})

test('concurrent runNow() calls make a job each', async () => {
  const { name } = await scene.stint.schedules.set(given())
  const made = await Promise.all(Array.from({ length: 20 }, () => scene.stint.schedules.runNow(name)))
  expect(new Set(made.map(({ jobId }) => jobId)).size).toBe(20)
  for (const { jobId } of made) expect(await scene.stint.get(jobId)).toBeDefined()
  await scene.stint.schedules.delete(name)
})

test('runNow() makes a job at once, paused or not', async () => {
  const { name } = await scene.stint.schedules.set(given({ overlap: 'skip' }))
  await scene.stint.schedules.pause(name)
  const { jobId } = await scene.stint.schedules.runNow(name)
  expect(await scene.stint.get(jobId)).toMatchObject({ state: 'ready', input: { a: 1 } })
  expect(await firesOf(name)).toMatchObject([{ jobId, outcome: 'fired', reason: 'run now' }])
  await scene.stint.schedules.delete(name)
})

test('a backfill is previewed first, and then makes up for fires that did not happen, once', async () => {
  const { name } = await scene.stint.schedules.set(given({ cron: undefined, every: '10m', missed: 'once' }))
  await scene.clock.advance('61 minutes')
  await ticked()
  const [row] = await scene.db.query<{ now: Date }>('select stint.now() as now')
  const to = row?.now ?? new Date()
  const range = { from: new Date(to.getTime() - 7_200_000), to }
  const preview = await scene.stint.schedules.backfill(name, { ...range, dryRun: true })
  expect(preview).toHaveLength(12)
  expect(preview.filter(({ action }) => action === 'kept')).toHaveLength(1)
  expect((await firesOf(name)).filter(({ outcome }) => outcome === 'fired')).toHaveLength(1)
  const done = await scene.stint.schedules.backfill(name, range)
  expect(done.filter(({ action }) => action === 'fired')).toHaveLength(11)
  const fires = await firesOf(name)
  expect(fires.map(({ outcome }) => outcome)).toEqual(fires.map(() => 'fired'))
  expect(new Set(fires.map(({ jobId }) => jobId)).size).toBe(12)
  const again = await scene.stint.schedules.backfill(name, range)
  expect(again.every(({ action }) => action === 'kept')).toBe(true)
  const tooFar = { from: new Date(to.getTime() - 365 * 86_400_000), to }
  await expect(scene.stint.schedules.backfill(name, tooFar)).rejects.toMatchObject({
    code: 'invalid-option',
  })
  await scene.stint.schedules.delete(name)
})

test('jobs of late, made-up, run-now and backfilled fires know the time that they are for', async () => {
  const kept = newName('kept')
  const contract = defineJob({ kind: newName('late'), queue: newName('late'), retry: { attempts: 1 } })
  const schedule = given({ name: kept, job: contract, cron: '0 * * * *', missed: 'once', input: null })
  await scene.stint.schedules.set(schedule)
  await scene.clock.advance('3 hours')
  await ticked()
  await scene.stint.schedules.runNow(kept)
  const [row] = await scene.db.query<{ now: Date }>('select stint.now() as now')
  const to = row?.now ?? new Date()
  await scene.stint.schedules.backfill(kept, { from: new Date(to.getTime() - 3 * 3_600_000), to })
  const fires = await firesOf(kept)
  expect(new Set(fires.map(({ reason }) => reason?.replace(/:.*/, '')))).toEqual(
    new Set(['late', 'run now', 'backfill']),
  )
  const { id: ordinary } = await scene.stint.enqueue(contract, null)
  // One of them dies and is edited: the new job is for the same time.
  const dead = fires[0]?.jobId ?? ''
  await bury(scene.db, dead)
  const { id: edited } = await scene.stint.dead.replay(dead, { contract, input: null })
  const seen = new Map<string, Date | undefined>()
  const worker = await startWorker(scene, { queues: { [contract.queue]: 2 } }, (one) =>
    one.handle(contract, (_, ctx) => void seen.set(ctx.jobId, ctx.fireAt)),
  )
  await worker.tells('succeeded', () => true, fires.length + 1)
  await worker.worker.stop()
  expect(seen).toEqual(
    new Map<string, Date | undefined>([
      ...fires.map(({ jobId, fireAt }) => [jobId === dead ? edited : (jobId ?? ''), fireAt] as const),
      [ordinary, undefined],
    ]),
  )
  await scene.stint.schedules.delete(kept)
})

test('a schedule without the input that its contract requires is refused where it is defined', () => {
  const contract = defineJob({ kind: 'report.for', input: z.object({ to: z.string() }) })
  expect(() => defineSchedule({ name: 'nightly', job: contract, cron: '@daily' })).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      message: expect.stringContaining(
        "The schedule 'nightly' has no input. Invalid input for 'report.for'",
      ) as string,
    }) as Error,
  )
})

test('a schedule that does not exist is not found', async () => {
  const calls = [
    () => scene.stint.schedules.pause('none'),
    () => scene.stint.schedules.runNow('none'),
    () => scene.stint.schedules.delete('none'),
    () => scene.stint.schedules.next('none'),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'schedule-not-found' })
  expect(await scene.stint.schedules.get('none')).toBeUndefined()
})

test('a changed rule applies from now on', async () => {
  const schedule = given({ cron: undefined, every: '1h', missed: 'all' })
  await scene.stint.schedules.set(schedule)
  await scene.clock.advance('30 minutes')
  await scene.stint.schedules.set(given({ name: schedule.name, cron: '* * * * *', missed: 'all' }))
  await ticked()
  expect(await firesOf(schedule.name)).toEqual([])
  await scene.stint.schedules.delete(schedule.name)
})
