import { describe, expect, test } from 'vitest'
import type { OverlapPolicy, ScheduleDefinition } from '../src/index.ts'
import { given, schedulesScene } from './schedules-scene.ts'
import { bury } from './support/dead-letters.ts'

const scene = schedulesScene()
const { firesOf, outcomesOf, ticked, toMinute } = scene

describe('missed fires', () => {
  const hour = ['missed', 'missed', 'missed', 'missed', 'missed', 'missed']
  test.each<[string, ScheduleDefinition['missed'], string, string[]]>([
    ['skip', 'skip', '61 minutes', hour],
    ['once: the latest fires', 'once', '61 minutes', [...hour.slice(1), 'fired']],
    ['all', 'all', '61 minutes', hour.map(() => 'fired')],
    [
      'all, up to so many',
      { policy: 'all', limit: 2 },
      '61 minutes',
      ['missed', 'missed', 'missed', 'missed', 'fired', 'fired'],
    ],
    [
      'all within a window',
      { policy: 'all', window: '35m' },
      '61 minutes',
      ['missed', 'missed', 'fired', 'fired', 'fired', 'fired'],
    ],
    ['once, outside of its window', { policy: 'once', window: '1s' }, '61 minutes', hour],
    ['on time, within a minute', 'skip', '10 minutes 30 seconds', ['fired']],
  ])('missed fires with the policy "%s"', async (_, missed, later, expected) => {
    const [row] = await scene.db.query<{ ms: string }>(
      `select mod((extract(epoch from stint.now()) * 1000)::bigint, 600000) as ms`,
    )
    // A second past a fire: the milliseconds are rounded, and the schedule must not begin just before it.
    await scene.clock.advance(`${601_000 - Number(row?.ms)} milliseconds`)
    const { name } = await scene.stint.schedules.set(given({ cron: undefined, every: '10m', missed }))
    await scene.clock.advance(later)
    await ticked()
    const fires = await firesOf(name)
    expect(fires.map(({ outcome }) => outcome)).toEqual(expected)
    for (const { outcome, reason } of fires)
      if (outcome === 'missed') expect(reason).toMatch(/^no worker fired it from .*Z to .*Z$/)
    await ticked()
    expect(await firesOf(name)).toHaveLength(expected.length)
    await scene.stint.schedules.delete(name)
  })

  test('the missed fires of a long time are not stored one by one', async () => {
    const { name } = await scene.stint.schedules.set(given({ cron: '* * * * * *', missed: 'skip' }))
    await scene.clock.advance('3 days')
    await ticked()
    const fires = await firesOf(name)
    expect(fires.filter(({ outcome }) => outcome === 'missed')).toHaveLength(102)
    expect(fires[0]?.reason).toContain('have no row of their own')
    await scene.stint.schedules.delete(name)
  })
})

describe('overlap', () => {
  /** Four fires: the first job runs through the second and third, and ends before the fourth. */
  test.each<[OverlapPolicy, string[], string | undefined]>([
    ['allow', ['fired', 'fired', 'fired', 'fired'], 'ready'],
    ['skip', ['fired', 'skipped', 'skipped', 'fired'], 'ready'],
    ['queue-one', ['fired', 'fired', 'skipped', 'queued'], 'ready'],
    ['cancel-previous', ['fired', 'fired', 'fired', 'fired'], 'cancelled'],
  ])(
    'four fires with the overlap policy %s, while the first job runs through two of them',
    async (overlap, expected, firstState) => {
      const { name } = await scene.stint.schedules.set(given({ overlap }))
      for (let fire = 0; fire < 3; fire++) {
        await toMinute()
        await ticked()
      }
      const [first] = await firesOf(name)
      expect((await scene.stint.get(first?.jobId ?? ''))?.state).toBe(firstState)
      if (overlap !== 'cancel-previous') await scene.stint.cancel(first?.jobId ?? '')
      await toMinute()
      await ticked()
      expect(await outcomesOf(name)).toEqual(expected)
      for (const { outcome, reason } of await firesOf(name))
        if (outcome === 'skipped' || outcome === 'queued') expect(reason).toMatch(/^overlap: /)
      await scene.stint.schedules.delete(name)
    },
  )

  /** The outcome of the next fire while the previous job is in a state, and what happens to that job. */
  const before = {
    scheduled: `update stint.job set state = 'scheduled', run_at = stint.now() + interval '1 day' where id = $1`,
    ready: 'select $1::uuid',
    running: `update stint.job set state = 'running', lease_id = gen_random_uuid(), worker_id = gen_random_uuid() where id = $1`,
    retrying: `update stint.job set state = 'retrying', attempt = 1, epoch = 1, run_at = stint.now() + interval '1 day' where id = $1`,
    cancelled: undefined,
    dead: undefined,
  } as const
  type Before = keyof typeof before
  const isLive = (state: Before): boolean => state !== 'cancelled' && state !== 'dead'
  const ofLive: Record<OverlapPolicy, string> = {
    allow: 'fired',
    skip: 'skipped',
    'queue-one': 'queued',
    'cancel-previous': 'fired',
  }
  const table = (Object.keys(ofLive) as OverlapPolicy[]).flatMap((overlap) =>
    (Object.keys(before) as Before[]).map((state) => {
      const isCancelled = overlap === 'cancel-previous' && isLive(state) && state !== 'running'
      const then = isCancelled ? 'cancelled' : state
      return { overlap, state, outcome: isLive(state) ? ofLive[overlap] : 'fired', then }
    }),
  )
  test.each(table)(
    'overlap $overlap with a previous job that is $state: the fire is $outcome, and that job is $then',
    async ({ overlap, state, outcome, then }) => {
      const { name } = await scene.stint.schedules.set(given({ overlap }))
      await toMinute()
      await ticked()
      const [first] = await firesOf(name)
      const id = first?.jobId ?? ''
      if (state === 'cancelled') await scene.stint.cancel(id)
      else if (state === 'dead') await bury(scene.db, id)
      else await scene.db.query(before[state], [id])
      await toMinute()
      await ticked()
      expect(await outcomesOf(name)).toEqual(['fired', outcome])
      const left = await scene.stint.get(id)
      expect(left?.state).toBe(then)
      expect(left?.cancelRequestedAt ?? null).toEqual(
        overlap === 'cancel-previous' && state === 'running' ? expect.any(Date) : null,
      )
      await scene.stint.schedules.delete(name)
    },
  )

  test('overlap cancel-previous asks a running job to stop', async () => {
    const { name } = await scene.stint.schedules.set(given({ overlap: 'cancel-previous' }))
    await toMinute()
    await ticked()
    const [first] = await firesOf(name)
    await scene.db.query(
      `update stint.job set state = 'running', lease_id = gen_random_uuid(), worker_id = gen_random_uuid() where id = $1`,
      [first?.jobId],
    )
    await toMinute()
    const { fired } = await ticked()
    expect(fired.find(({ schedule }) => schedule === name)?.asked).toHaveLength(1)
    expect((await scene.stint.get(first?.jobId ?? ''))?.cancelRequestedAt).not.toBeNull()
    await scene.stint.schedules.delete(name)
  })
})
