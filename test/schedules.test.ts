import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineSchedule } from '../src/index.ts'
import type { Fire, MissedPolicy, OverlapPolicy, Schedule, ScheduleDefinition } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import { setSchedule } from '../src/schedules/set.ts'
import { tick } from '../src/schedules/fires/tick.ts'
import type { Tick } from '../src/schedules/fires/tick.ts'
import { bury } from './support/dead-letters.ts'
import { movableClock } from './support/clock.ts'
import type { TestClock } from './support/clock.ts'
import { eventually, newName, startWorker, workerScene } from './support/workers.ts'

const scene = workerScene()
let clock: TestClock
beforeAll(async () => {
  clock = await movableClock(scene.db)
})

const job = defineJob({ kind: 'report.send', queue: 'reports', priority: 7, retry: { attempts: 3 } })

/** Moves the clock to a full minute and some seconds, so that the test knows what is due. */
async function toMinute(second = 5): Promise<void> {
  const [row] = await scene.db.query<{ s: string }>('select extract(second from stint.now()) as s')
  await clock.advance(`${60 + second - Number(row?.s)} seconds`)
}

// So that no minute begins between two lines of a test.
beforeEach(() => toMinute())

function given(more: Partial<ScheduleDefinition> = {}): Schedule {
  return defineSchedule({
    name: newName('s'),
    job,
    cron: '* * * * *',
    input: { a: 1 },
    ...more,
  })
}

/** Schedules of code are stored as if set at run time, so that no live worker has to have them. */
async function ticked(mine: readonly Schedule[] = []): Promise<Tick> {
  const db = new Database({
    url: scene.db.url,
    schema: 'stint',
    poolSize: 2,
    deadlineMs: 10_000,
    applicationName: 't',
  })
  try {
    const known = new Map<string, { schedule: Schedule; digest: string }>()
    for (const schedule of mine)
      known.set(schedule.name, {
        schedule,
        digest: await setSchedule(db, schedule, { source: 'runtime', appVersion: null }),
      })
    return await tick(db, known)
  } finally {
    await db.close()
  }
}

async function firesOf(name: string): Promise<Fire[]> {
  return (await scene.stint.schedules.fires(name, { limit: 1_000 })).reverse()
}

async function outcomesOf(name: string): Promise<string[]> {
  return (await firesOf(name)).map(({ outcome }) => outcome)
}

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
    await clock.advance(`${600_000 - Number(row?.ms)} milliseconds`)
    const { name } = await scene.stint.schedules.set(given({ cron: undefined, every: '10m', missed }))
    await clock.advance(later)
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
    await clock.advance('3 days')
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

describe('acts of people', () => {
  test('a schedule that is paused until a time does not fire, and nothing is made up for', async () => {
    const { name } = await scene.stint.schedules.set(given({ missed: 'all' }))
    expect(await scene.stint.schedules.pause(name, { for: '10m', reason: 'move' })).toMatchObject({
      isPaused: true,
      pauseReason: 'move',
    })
    await clock.advance('9 minutes')
    await ticked()
    expect(await firesOf(name)).toEqual([])
    await clock.advance('2 minutes 30 seconds')
    await ticked()
    expect((await firesOf(name)).length).toBeLessThanOrEqual(2)
    expect(await scene.stint.schedules.get(name)).toMatchObject({ isPaused: false, pauseReason: null })
    await scene.stint.schedules.delete(name)
  })

  test('a schedule that is paused without an end fires again from its resume on', async () => {
    const { name } = await scene.stint.schedules.set(given({ missed: 'all' }))
    expect(await scene.stint.schedules.pause(name)).toMatchObject({ isPaused: true, nextFireAt: null })
    expect(await scene.stint.schedules.next(name)).toEqual([])
    await clock.advance('1 hour')
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
    await clock.advance('5 minutes')
    await ticked()
    expect(await firesOf(schedule.name)).toEqual([])
    expect(await scene.stint.schedules.get(schedule.name)).toMatchObject({ isPaused: true })
    await clock.advance('8 minutes')
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
    await clock.advance('61 minutes')
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
    await clock.advance('3 hours')
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
    await clock.advance('30 minutes')
    await scene.stint.schedules.set(given({ name: schedule.name, cron: '* * * * *', missed: 'all' }))
    await ticked()
    expect(await firesOf(schedule.name)).toEqual([])
    await scene.stint.schedules.delete(schedule.name)
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
      await clock.advance('6 seconds')
      expect((await ticked([bad])).failed).toMatchObject([{ schedule: bad.name }])
      for (const { name } of [bad, good]) await scene.stint.schedules.delete(name)
    },
  )
})

function withCode(code: string): Error {
  return Object.assign(new Error(`code ${code}`), { code })
}
