import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { openRetentionScene } from './retention-scene.ts'
import type { RetentionScene } from './retention-scene.ts'

const job = defineJob({ kind: 'probe' })

let scene: RetentionScene
beforeAll(async () => {
  scene = await openRetentionScene()
})
afterAll(() => scene.close())

/** Inserts a fire for every minute back from now, decided when it was due. */
async function plant(name: string, minutes: number, more = ''): Promise<void> {
  await scene.db.query(
    `insert into stint.fire (schedule, fire_at, outcome, reason, at)
     select $1, at, 'skipped', 'planted', at
       from (select date_trunc('minute', stint.now()) - n * interval '1 minute' as at from generate_series(1, $2) as n) as due
     ${more}`,
    [name, minutes],
  )
}
const left = (name: string): Promise<number> => scene.count('fire', 'schedule = $1', [name])
const given = (name: string, keepFires?: string): Promise<unknown> =>
  scene.stint.schedules.set({ name, job, cron: '0 0 1 1 *', keepFires })

test('fires are kept as long as their schedule says, by default for 30 days, and removed in bounded batches', async () => {
  await given('short', '2d')
  await given('usual')
  await plant('short', 2_500)
  await plant('usual', 2_500)
  expect(await scene.stint.schedules.get('usual')).toMatchObject({ keepFiresMs: 30 * 86_400_000 })
  await scene.upkeep.pass('fires')
  expect([await left('short'), await left('usual')]).toEqual([2_500, 2_500])
  await scene.clock.advance('47 hours')
  // Fires that were decided within two days: about an hour of them, and fewer as the clock goes on.
  const young = (): Promise<number> =>
    scene.count('fire', `schedule = 'short' and at > stint.now() - interval '2 days'`)
  const most = await young()
  expect(most).toBeGreaterThan(0)
  await scene.upkeep.pass('fires')
  const kept = await left('short')
  expect(kept).toBeLessThanOrEqual(most)
  expect(kept).toBeGreaterThanOrEqual(await young())
  await scene.clock.advance('2 hours')
  await scene.upkeep.pass('fires')
  // The last fire is always kept, because it says when the schedule last fired.
  expect([await left('short'), await left('usual')]).toEqual([1, 2_500])
  expect(await scene.stint.schedules.get('short')).toMatchObject({ lastOutcome: 'skipped' })
  await scene.clock.advance('30 days')
  await scene.upkeep.pass('fires')
  expect([await left('short'), await left('usual')]).toEqual([1, 1])
})

test('fires stay while their job has not ended, while they wait, or if they were made up for recently', async () => {
  await scene.upkeep.pass('partitions')
  await given('busy', '1d')
  await plant('busy', 6)
  const fires = await scene.db.query<{ fire_at: Date }>(
    `select fire_at from stint.fire where schedule = 'busy' order by fire_at`,
  )
  const [live, ended, queued, madeUp, asked] = fires.map(({ fire_at }) => fire_at)
  const [running, finished] = [await scene.stint.enqueue(job), await scene.stint.enqueue(job)]
  for (const [at, outcome, id] of [
    [live, 'fired', running.id],
    [ended, 'fired', finished.id],
    [queued, 'queued', null],
    [asked, 'asked', '0199a000-0000-7000-8000-000000000001'],
  ])
    await scene.db.query(
      `update stint.fire set outcome = $2, job_id = $3 where schedule = 'busy' and fire_at = $1`,
      [at, outcome, id],
    )
  await scene.stint.cancel(finished.id)
  await scene.clock.advance('25 hours')
  await scene.db.query(`update stint.fire set at = stint.now() where schedule = 'busy' and fire_at = $1`, [
    madeUp,
  ])
  await scene.upkeep.pass('fires')
  const rows = await scene.db.query<{ fire_at: Date }>(
    `select fire_at from stint.fire where schedule = 'busy' order by fire_at`,
  )
  expect(rows.map(({ fire_at }) => fire_at)).toEqual([live, queued, madeUp, asked, fires.at(-1)?.fire_at])
  await scene.stint.cancel(running.id)
  await scene.upkeep.pass('fires')
  expect(await left('busy')).toBe(4)
})

test('a fire that cannot be removed does not keep others from being removed', async () => {
  await given('stubborn', '1d')
  await plant('stubborn', 20)
  await scene.clock.advance('25 hours')
  await scene.db.query(`create function public.refuse() returns trigger language plpgsql
                        as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
  await scene.db.query(`create trigger refuse before delete on stint.fire for each row
                        when (old.reason = 'planted' and extract(minute from old.fire_at)::integer % 20 = 7)
                        execute function public.refuse()`)
  await scene.upkeep.pass('fires')
  // That fire and the last one, which may be the same.
  expect(await left('stubborn')).toBeLessThanOrEqual(2)
  await scene.db.query('drop trigger refuse on stint.fire; drop function public.refuse()')
  await scene.upkeep.pass('fires')
  expect(await left('stubborn')).toBe(1)
})

test('backfill refuses fires that were pruned, even if keepFires is raised later, and accepts times before the schedule existed', async () => {
  const hourly = (keepFires: string): Promise<unknown> =>
    scene.stint.schedules.set({ name: 'made-up', job, every: '1h', keepFires })
  const backfill = async (from: string, to: string): Promise<number> => {
    const [range] = await scene.db.query<{ from: Date; to: Date }>(
      'select stint.now() - $1::interval as from, stint.now() - $2::interval as to',
      [from, to],
    )
    if (range === undefined) throw new Error('The database gave no answer')
    return (await scene.stint.schedules.backfill('made-up', { ...range, dryRun: true })).length
  }
  await hourly('3d')
  // It cannot have fired before it existed.
  expect(await backfill('20 days', '19 days')).toBe(24)
  await scene.clock.advance('4 days')
  await expect(backfill('20 days', '19 days')).rejects.toMatchObject({
    code: 'invalid-option',
    message: expect.stringContaining('pruned') as string,
  })
  await expect(backfill('73 hours', '70 hours')).rejects.toMatchObject({ code: 'invalid-option' })
  expect(await backfill('71 hours', '70 hours')).toBe(1)
  await hourly('30d')
  await expect(backfill('73 hours', '70 hours')).rejects.toMatchObject({ code: 'invalid-option' })
  expect(await backfill('71 hours', '70 hours')).toBe(1)
  await scene.stint.schedules.delete('made-up')
})
