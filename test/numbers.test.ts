import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PermanentError, Snooze } from '../src/worker.ts'
import { Stint } from '../src/index.ts'
import type { JobContract, StatSeries } from '../src/index.ts'
import { movableClock } from './support/clock.ts'
import { createTestDatabase } from './support/database.ts'
import { upkeepByHand } from './support/history.ts'
import { eventually, newJob, newName, startFor, workerScene } from './support/workers.ts'
import type { Scene } from './support/workers.ts'

const scene = workerScene()

/** The figures of a contract's jobs over the last quarter of an hour. */
async function statsOf(
  { kind, queue }: JobContract,
  { stint }: Scene = scene,
): Promise<StatSeries | undefined> {
  const { series } = await stint.stats({ queue, kind })
  return series[0]
}

function exact(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? Number.NaN
}

describe('the minutes', () => {
  test('the minutes hold everything that happened once the worker has stopped', async () => {
    const job = newJob('counted')
    const client = new Stint({ connection: scene.db.url })
    type Input = { ending: string }
    const handler = ({ ending }: Input, { attempt }: { attempt: number }): void => {
      if (ending === 'retry' && attempt === 1) throw new Error('at first')
      if (ending === 'dead') throw new PermanentError('for good')
      if (ending === 'snooze') throw new Snooze('1h')
    }
    const worker = await startFor(scene, job, handler as never)
    const endings = ['fine', 'fine', 'fine', 'retry', 'retry', 'dead', 'snooze']
    await client.enqueueMany(job, endings.map((ending) => ({ ending })) as never[])
    await worker.until(
      () =>
        worker.told('succeeded').length === 5 &&
        worker.told('dead').length + worker.told('snoozed').length === 2,
    )
    await worker.worker.stop()
    await client.close()
    expect(await statsOf(job)).toMatchObject({
      enqueued: 7,
      started: 9,
      succeeded: 5,
      failed: 2,
      dead: 1,
      snoozed: 1,
      cancelled: 0,
      released: 0,
      crashed: 0,
      refused: 0,
      leaseExpired: 0,
      attemptsPerSuccess: 7 / 5,
      failureRate: 3 / 8,
    })
  })

  test('the minutes give percentiles within 10 % of the exact ones', async () => {
    const job = newJob('measured')
    const worker = await startFor(scene, job, (({ ms }: { ms: number }) => pause(ms)) as never, {
      queues: { [job.queue]: 100 },
    })
    // Timed by the event, which the worker counts too. The handlers start later: up to a hundred may have to wait for
    // this process.
    const startedAt = new Map<string, number>()
    worker.worker.on('started', ({ id }) => startedAt.set(id, Date.now()))
    const inputs = Array.from({ length: 3_000 }, (_, n) => ({ ms: [2, 5, 10, 20, 40][n % 5] }))
    await scene.stint.enqueueMany(job, inputs as never[])
    await worker.until(() => worker.told('succeeded').length === 3_000)
    await worker.worker.stop()
    const due = await scene.db.query<{ id: string; at: Date }>(
      'select id, run_at as at from stint.finished where queue = $1',
      [job.queue],
    )
    const ran = worker.told('succeeded').map(({ ranMs }) => ranMs)
    const waited = due.map(({ id, at }) => (startedAt.get(id) ?? 0) - at.getTime())
    const found = await statsOf(job)
    expect(found?.succeeded).toBe(3_000)
    for (const [name, share] of [
      ['p50', 0.5],
      ['p95', 0.95],
      ['p99', 0.99],
    ] as const) {
      expect(Math.abs((found?.run[name] ?? 0) / exact(ran, share) - 1), `run ${name}`).toBeLessThan(0.1)
      expect(Math.abs((found?.wait[name] ?? 0) / exact(waited, share) - 1), `wait ${name}`).toBeLessThan(0.1)
    }
  })

  test('the minutes of two workers are complete, and failed writes lose nothing', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const stint = new Stint({ connection: own.url })
    const here: Scene = { db: own, stint }
    await own.query(`create function public.refuse() returns trigger language plpgsql
                     as $$ begin raise exception 'not now'; end $$`)
    await own.query(
      `create trigger refuse before insert on stint.stat_minute execute function public.refuse()`,
    )
    await own.query(
      `create trigger refuse before insert on stint.error_hour execute function public.refuse()`,
    )
    const job = newJob('twice')
    const handler = ((input: { fails: boolean }) => {
      if (input.fails) throw new PermanentError('for good')
    }) as never
    const workers = [await startFor(here, job, handler), await startFor(here, job, handler)]
    await stint.enqueueMany(job, Array.from({ length: 400 }, (_, n) => ({ fails: n % 4 === 0 })) as never[])
    const told = (name: 'succeeded' | 'dead'): number =>
      workers.reduce((sum, worker) => sum + worker.told(name).length, 0)
    await eventually(() => Promise.resolve(told('succeeded') + told('dead') === 400), 'all of them ended')
    await Promise.any(
      workers.map((worker) => worker.tells('trouble', ({ what }) => what === 'numbers: errors')),
    )
    await own.query('drop trigger refuse on stint.stat_minute; drop trigger refuse on stint.error_hour')
    for (const { worker } of workers) await worker.stop()
    expect(await statsOf(job, here)).toMatchObject({ started: 400, succeeded: 300, dead: 100 })
    const [group, ...more] = await stint.errors.list({ kind: job.kind })
    expect(more).toEqual([])
    expect(group).toMatchObject({ failures: 0, deaths: 100, title: 'for good' })
    await stint.close()
  })

  test('the minutes count jobs that are taken back from a lost worker, and its late settlement that is refused', async () => {
    const job = newJob('lost')
    const id = await scene.stint.enqueue(job, {}).then((enqueued) => enqueued.id)
    await scene.db.query(
      `with lost as (insert into stint.worker (id, lease_until, lost_at) values (gen_random_uuid(), now(), now()) returning id)
       update stint.job set state = 'running', worker_id = lost.id, lease_id = gen_random_uuid(), attempt = 1, epoch = 1
         from lost where job.id = $1`,
      [id],
    )
    const worker = await startFor(scene, job, () => undefined, { sweepEvery: '100ms' })
    await worker.hears('succeeded', id)
    await worker.worker.stop()
    expect(await statsOf(job)).toMatchObject({ leaseExpired: 1, started: 1, succeeded: 1 })
  })

  test('the minutes count the jobs that schedules make', async () => {
    const job = newJob('by-schedule')
    const name = newName('every-second')
    await scene.stint.schedules.set({ name, job, every: '1s', input: {} })
    const worker = await startFor(scene, job, () => undefined)
    await worker.until(() => worker.told('succeeded').length >= 2)
    await scene.stint.schedules.delete(name)
    await worker.worker.stop()
    const [counted] = await scene.db.query<{ made: number }>(
      `select count(*)::int as made from stint.jobs where queue = $1`,
      [job.queue],
    )
    expect(await statsOf(job)).toMatchObject({ enqueued: counted?.made })
  })

  test('minutes are removed after a week, hours after 90 days, and error groups too unless ignored for ever', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    await own.query(`insert into stint.stat_minute (minute, queue, kind, process, flush)
      select date_trunc('minute', now()) - n * interval '1 day', 'q', 'k', gen_random_uuid(), 1
        from generate_series(0, 20) as n`)
    await own.query(`insert into stint.stat_hour
      select date_trunc('hour', now()) - n * interval '1 day', 'q', 'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}', '{}'
        from generate_series(0, 200) as n`)
    await own.query(`insert into stint.error_hour
      select 'f', date_trunc('hour', now()) - n * interval '1 day', gen_random_uuid(), 1, 1, 0 from generate_series(0, 60) as n`)
    await own.query(`insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job, status)
      select status || n, 'k', 'error', 'Error', 't', 'm', now() - interval '1 year', now() - n * interval '1 day', gen_random_uuid(), status
        from generate_series(80, 100, 20) as n, unnest(array['open', 'resolved', 'ignored']) as status`)
    const hand = upkeepByHand(own.url)
    onTestFinished(() => hand.close())
    await hand.pass('old-numbers')
    const [left] = await own.query<Record<string, number>>(
      `select (select count(*) from stint.stat_minute)::int as minutes, (select count(*) from stint.stat_hour)::int as hours,
              (select count(*) from stint.error_hour)::int as "errorHours"`,
    )
    expect(left).toEqual({ minutes: 7, hours: 90, errorHours: 30 })
    const groups = await own.query<{ fingerprint: string }>(
      'select fingerprint from stint.error_group order by 1',
    )
    expect(groups.map(({ fingerprint }) => fingerprint)).toEqual([
      ...['ignored100', 'ignored80', 'open80', 'resolved80'],
    ])
  })
})

describe('the roll-up', () => {
  test('the roll-up merges the rows of all processes, then makes hours, and loses nothing at any stage', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    // Half past a full minute, where the clock stands still, so that the test knows which minutes are old enough.
    const clock = await movableClock(own)
    const [now] = await own.query<{ half: string; later: string }>(
      `select half::text, (half + interval '2 hours')::text as later
         from (select date_trunc('minute', now()) + interval '30 seconds' as half) as clock`,
    )
    await clock.stopAt(now?.half ?? '')
    const stint = new Stint({ connection: own.url })
    onTestFinished(() => stint.close())
    const hand = upkeepByHand(own.url)
    onTestFinished(() => hand.close())
    // 90 minutes up to now, of three processes; the histograms differ by minute and process.
    await own.query(`insert into stint.stat_minute
        (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, attempts, wait, run)
      select date_trunc('minute', stint.now()) - n * interval '1 minute', 'q', case when n % 2 = 0 then 'even' else 'odd' end,
             ('00000000-0000-0000-0000-00000000000' || p)::uuid, 1, 1, 2, 3, 4, 5, 6,
             jsonb_build_object(80 + n % 7, 3, 100 + p, 1), jsonb_build_object(90 + n % 5, 2)
        from generate_series(0, 89) as n, generate_series(1, 3) as p`)
    const whole = async (step: string): Promise<unknown> => {
      const from = new Date(Date.now() - 3 * 3_600_000)
      const { series } = await stint.stats({ from, step })
      return series.map((one) => ({ ...one, points: [], perSecond: 0 }))
    }
    const before = await whole('1m')
    expect(before).toMatchObject([
      { kind: 'even', succeeded: 405 },
      { kind: 'odd', succeeded: 405 },
    ])
    const minutes = await stint.stats({ from: new Date(Date.now() - 3 * 3_600_000), step: '1m', by: 'all' })
    expect(minutes.series[0]?.points).toHaveLength(90)
    expect(await whole('1h')).toEqual(before)
    await hand.pass('roll-up')
    const count = async (): Promise<unknown> => {
      const [row] = await own.query(`select count(*)::int as rows, count(distinct process)::int as processes,
           (select sum(succeeded)::int from stint.stat_hour) as hours from stint.stat_minute`)
      return row
    }
    // The roll-up takes nothing of the newest 20 minutes.
    expect(await count()).toMatchObject({ rows: 70 + 20 * 3 })
    expect(await whole('1m')).toEqual(before)
    expect(await whole('1h')).toEqual(before)
    // A row that comes late is added to the merged one.
    await own.query(`insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, run)
      select min(minute), 'q', 'even', gen_random_uuid(), 1, 7, '{"90": 7}' from stint.stat_minute where kind = 'even'`)
    const after = await whole('1m')
    expect(after).toMatchObject([{ succeeded: 412 }, { succeeded: 405 }])
    await clock.stopAt(now?.later ?? '')
    await hand.pass('roll-up')
    expect(await count()).toEqual({ rows: 90, processes: 1, hours: 817 })
    expect(await whole('1m')).toEqual(after)
    expect(await whole('1h')).toEqual(after)
    const again = await stint.stats({ from: new Date(Date.now() - 3 * 3_600_000), step: '1m', by: 'all' })
    expect(again.series[0]?.points).toHaveLength(90)
  })

  test('two roll-ups at once take every row once', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    await own.query(`insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded)
      select date_trunc('minute', now()) - n * interval '1 minute', 'q', 'k', gen_random_uuid(), 1, 1
        from generate_series(30, 629) as n, generate_series(1, 5)`)
    const hands = Array.from({ length: 3 }, () => upkeepByHand(own.url))
    await Promise.all(hands.map((hand) => hand.pass('roll-up')))
    await hands[0]?.pass('roll-up')
    for (const hand of hands) await hand.close()
    const [sums] = await own.query(`select (select sum(succeeded)::int from stint.stat_minute) as minutes,
        (select count(*)::int from stint.stat_minute) as rows, (select sum(succeeded)::int from stint.stat_hour) as hours`)
    expect(sums).toEqual({ minutes: 3_000, rows: 600, hours: 3_000 })
  })
})
