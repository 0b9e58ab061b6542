import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PermanentError, Snooze } from '../src/worker.ts'
import { defineJob, Stint } from '../src/index.ts'
import type { JobContract, StatSeries } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import type { Queryable } from '../src/db/statement.ts'
import { readGauges } from '../src/stats/read/queues/read-gauges.ts'
import { Gauges } from '../src/stats/write/gauges.ts'
import { movableClock } from './support/clock.ts'
import { createTestDatabase } from './support/database.ts'
import { form } from './support/form.ts'
import { upkeepByHand } from './support/history.ts'
import { eventually, newJob, newName, startFor, startWorker, workerScene } from './support/workers.ts'
import type { Scene, TestWorker } from './support/workers.ts'

const scene = workerScene()

/** The figures of a contract's jobs over the last quarter of an hour. */
async function statsOf(
  { kind, queue }: JobContract,
  { stint }: Scene = scene,
): Promise<StatSeries | undefined> {
  const { series } = await stint.stats({ queue, kind })
  return series[0]
}

function open({ url }: { url: string }): Database {
  const db = new Database({ url, schema: 'stint', poolSize: 2, deadlineMs: 10_000, applicationName: 'test' })
  onTestFinished(() => db.close())
  return db
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

describe('the gauges', () => {
  test('the gauges count the jobs of queues while workers run and afterwards', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const stint = new Stint({ connection: own.url })
    onTestFinished(() => stint.close())
    const here: Scene = { db: own, stint }
    const job = newJob('gauged')
    const other = defineJob({ kind: 'other.kind', queue: job.queue })
    await stint.enqueueMany(job, Array.from({ length: 3_000 }, () => ({})) as never[])
    await stint.enqueueMany(job, [{}, {}] as never[], { delay: '1h' })
    await stint.enqueueMany(other, Array.from({ length: 5 }, () => ({})) as never[], {
      priority: -7,
      key: 'acme',
    })
    let isHeld = false
    const handler = (async () => {
      while (isHeld) await pause(20)
    }) as never
    const workers: TestWorker[] = []
    for (let n = 0; n < 2; n++)
      workers.push(await startFor(here, job, handler, { queues: { [job.queue]: 2 } }))
    // One of the two workers may have taken nearly all jobs before the other claims.
    await Promise.any(workers.map((one) => one.until(() => one.told('succeeded').length > 50)))
    isHeld = true
    // No job ends from here on: the claimed jobs stay claimed, and the gauges have to agree with the table.
    const truth = async (): Promise<unknown> => {
      const rows = await own.query<{ state: string; kind: string; jobs: number }>(
        'select state::text, kind, count(*)::int as jobs from stint.job where queue = $1 group by 1, 2',
        [job.queue],
      )
      const kinds: Record<string, Record<string, number>> = {}
      for (const { state, kind, jobs } of rows) (kinds[kind] ??= {})[state] = jobs
      return kinds
    }
    const reading = open(own)
    await eventually(async () => {
      const [gauge] = await readGauges(reading)
      return JSON.stringify(sorted(gauge?.kinds)) === JSON.stringify(sorted(await truth()))
    }, 'gauges that are true')
    const { queues } = await stint.stats({ queue: job.queue })
    expect(queues).toMatchObject([
      { scheduled: 2, retrying: 0, waiting: 0, estimated: [], workers: 2, slots: 4 },
    ])
    expect(queues[0]?.oldestReadyMs).toBeGreaterThan(0)
    const details = await stint.view.queue(job.queue)
    expect(details?.topKeys).toEqual([{ key: 'acme', ready: 5 }])
    expect(details?.priorities).toContainEqual({ priority: -7, ready: 5 })
    isHeld = false
    for (const { worker } of workers) await worker.stop()
  })

  // This test measures time, so the short form leaves it out; the test before it holds that the gauges follow the jobs.
  test.skipIf(form === 'short')('the gauges are at most 3 s behind while jobs come and go', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const stint = new Stint({ connection: own.url })
    onTestFinished(() => stint.close())
    const job = newJob('flowing')
    const handler = (async () => pause(20)) as never
    const workers: TestWorker[] = []
    for (let n = 0; n < 2; n++)
      workers.push(await startFor({ db: own, stint }, job, handler, { queues: { [job.queue]: 4 } }))
    // More jobs come than go, so that an old count is a wrong one.
    const perBatch = 40
    const batchEveryMs = 50
    const over = new AbortController()
    const truths: { at: number; live: number }[] = []
    const producing = (async () => {
      while (!over.signal.aborted) {
        // The gauges count up to this many jobs, and estimate above.
        if ((truths.at(-1)?.live ?? 0) < 4_500)
          await stint.enqueueMany(job, Array.from({ length: perBatch }, () => ({})) as never[])
        await pause(batchEveryMs)
      }
    })()
    const watching = (async () => {
      while (!over.signal.aborted) {
        const [row] = await own.query<{ live: number }>('select count(*)::int as live from stint.job')
        truths.push({ at: performance.now(), live: row?.live ?? 0 })
        await pause(20)
      }
    })()
    const checked: string[] = []
    try {
      const seen = new Set<number>()
      await eventually(async () => {
        const askedAt = performance.now()
        const [gauge] = await stint.gauges({ queue: job.queue })
        if (gauge?.countedAt == null || seen.has(gauge.countedAt.getTime())) return false
        seen.add(gauge.countedAt.getTime())
        const [last] = await own.query<{ cost: number }>('select took_ms as cost from stint.gauge_refresh')
        // Older by 20 times what a refresh costs, and by the time the machine stood still, in which no count was taken.
        const gaps = gapsOf(truths, askedAt - 10_000)
        const stoodStillMs = gaps.reduce((sum, gapMs) => sum + Math.max(0, gapMs - 100), 0)
        const since = askedAt - 3_000 - 20 * (last?.cost ?? 0) - stoodStillMs
        const within = truths.filter(({ at }) => at > since).map(({ live }) => live)
        // So many more jobs may have come between two counts.
        const slack = perBatch * (1 + Math.max(...gaps) / batchEveryMs)
        const live = gauge.ready + gauge.running
        const isTrue = live >= Math.min(...within) - slack && live <= Math.max(...within) + slack
        if (!isTrue) checked.push(`${live} is none of ${Math.min(...within)} to ${Math.max(...within)}`)
        return seen.size >= 3
      }, 'three refreshes under load')
    } finally {
      over.abort()
      await Promise.all([producing, watching])
      for (const { worker } of workers) await worker.stop()
    }
    expect(checked).toEqual([])
  })

  test('the gauges are refreshed every 10 s where nothing changes, and at once after a change', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const { queries, counted } = counting(open(own))
    let stirredAt = -Infinity
    const gauges = new Gauges({ stirredAt: () => stirredAt })
    await gauges.turn(counted)
    expect(queries).toEqual(['gauge-probe', 'write-gauges'])
    // Empty as before, so there is nothing to write. After that there is nothing to probe either.
    await gauges.turn(counted)
    await gauges.turn(counted)
    await gauges.turn(counted)
    expect(queries).toEqual(['gauge-probe', 'write-gauges', 'gauge-probe'])
    await own.query(`insert into stint.job (id, queue, kind) values (gen_random_uuid(), 'short', 'k')`)
    stirredAt = performance.now()
    await gauges.turn(counted)
    expect(await own.query('select queue, ready::int from stint.queue_gauge')).toEqual([
      { queue: 'short', ready: 1 },
    ])
  })

  test('the gauges of a leader at rest are right again soon after work comes, and stay so while it does', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const stint = new Stint({ connection: own.url })
    onTestFinished(() => stint.close())
    const job = newJob('returning')
    // So that the gauges have a row.
    await stint.enqueue(job, {}, { delay: '1h' })
    const worker = await startFor({ db: own, stint }, job, () => undefined, { lease: '6s' })
    // The time of no refresh yet.
    const looks = [0]
    const looked = async (times: number): Promise<void> => {
      await eventually(async () => {
        const [row] = await own.query<{ at: Date | null }>(
          'select refreshed_at as at from stint.gauge_refresh',
        )
        const at = row?.at?.getTime() ?? 0
        if (!looks.includes(at)) looks.push(at)
        return looks.length >= times
      }, `${times} looks`)
    }
    // Two refreshes that find the same: the next one comes after 9 s or more, unless something changes.
    await looked(3)
    looks.splice(0, looks.length - 1)
    const over = new AbortController()
    const producing = (async () => {
      while (!over.signal.aborted) {
        await stint.enqueue(job)
        await pause(50)
      }
    })()
    await looked(4)
    over.abort()
    await producing
    await worker.worker.stop()
    const gaps = looks.slice(1).map((at, index) => at - (looks[index] ?? 0))
    expect(Math.max(...gaps)).toBeLessThan(8_000)
  })

  test('the gauges have no row for an empty queue', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const db = open(own)
    const gauges = new Gauges()
    await own.query(`insert into stint.job (id, queue, kind) values (gen_random_uuid(), 'short', 'k')`)
    await gauges.refresh(db)
    expect(await own.query('select queue, ready::int from stint.queue_gauge')).toEqual([
      { queue: 'short', ready: 1 },
    ])
    await own.query('delete from stint.job')
    await gauges.refresh(db)
    expect(await own.query('select queue from stint.queue_gauge')).toEqual([])
  })
})

/** How long the times without a count were: from each count to the next, and from the last one until now. */
function gapsOf(looks: readonly { at: number }[], since: number): number[] {
  const times = [...looks.map(({ at }) => at).filter((at) => at > since), performance.now()]
  return times.map((at, index) => at - (times[index - 1] ?? at))
}

/** Records the names of the statements that are sent through it. */
function counting(db: Database): { queries: string[]; counted: Queryable } {
  const queries: string[] = []
  const query = (text: string, values: readonly unknown[]): ReturnType<Database['query']> => {
    queries.push(/gauge-probe|gauge-sample|write-gauges/.exec(text)?.[0] ?? 'other')
    return db.query(text, values)
  }
  return { queries, counted: { schema: db.schema, query } }
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

describe('error groups', () => {
  async function failing(kind: string, version?: string) {
    const job = defineJob({ kind, queue: newName('errors'), retry: { backoff: () => 1, attempts: 2 } })
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: 4 }, ...(version === undefined ? {} : { version }) },
      (one) =>
        one.handle(job, ((input: { note: number }) => {
          throw new Error(`The card ${input.note} of 3f2b was refused`)
        }) as never),
    )
    const die = async (count: number): Promise<void> => {
      const before = worker.told('dead').length
      await scene.stint.enqueueMany(job, Array.from({ length: count }, (_, note) => ({ note })) as never[])
      await worker.until(() => worker.told('dead').length >= before + count)
    }
    return { worker, die, job }
  }

  test('an error group takes messages that are cut in the middle of a character', async () => {
    const job = newJob('cut')
    // Messages are cut after 500 and after 2,000 units; one more unit in front shifts the cut.
    const worker = await startFor(scene, job, (input) => {
      throw new PermanentError('x'.repeat(input as number) + '😀'.repeat(2_000))
    })
    const { jobs } = await scene.stint.enqueueMany(job, [0, 1])
    for (const { id } of jobs) await worker.hears('dead', id)
    await worker.worker.stop()
    expect(worker.told('trouble')).toEqual([])
    const groups = await scene.stint.errors.list({ kind: job.kind })
    expect(groups).toHaveLength(2)
  })

  test('the same error makes one group, with its counts', async () => {
    const kind = newName('group')
    const { worker, die, job } = await failing(kind, 'v1')
    await die(6)
    await worker.worker.stop()
    const groups = await scene.stint.errors.list({ kind })
    expect(groups).toMatchObject([
      {
        kind,
        status: 'open',
        name: 'Error',
        title: 'The card <n> of <n>f<n>b was refused',
        versions: ['v1'],
        failures: 6,
        deaths: 6,
        regressedAt: null,
      },
    ])
    expect(groups[0]?.trend).toHaveLength(24)
    const found = await scene.stint.errors.get(groups[0]?.fingerprint ?? '')
    expect(found?.message).toMatch(/^The card \d of 3f2b was refused$/)
    const { dead } = await scene.stint.dead.list({ queue: job.queue })
    expect(new Set(dead.map(({ fingerprint }) => fingerprint))).toEqual(new Set([found?.fingerprint]))
    expect(dead.map(({ id }) => id)).toContain(found?.sampleJob)
    expect(await scene.stint.errors.list({ kind, deadly: true })).toHaveLength(1)
    expect(await scene.stint.errors.list({ kind, status: 'ignored' })).toEqual([])
  })

  test('the failures of a group are counted by the hour in which they happened', async () => {
    const kind = newName('hourly')
    const first = await failing(kind, 'v1')
    await first.die(2)
    await first.worker.worker.stop()
    const [group] = await scene.stint.errors.list({ kind })
    const fingerprint = group?.fingerprint ?? ''
    await scene.db.query(
      `update stint.error_hour set hour = hour - interval '3 hours' where fingerprint = $1`,
      [fingerprint],
    )
    const next = await failing(kind, 'v1')
    await next.die(3)
    await next.worker.worker.stop()
    const found = await scene.stint.errors.get(fingerprint)
    const happened = found?.trend.filter(({ failures, deaths }) => failures + deaths > 0) ?? []
    expect(found?.hours).toEqual(happened)
    // One hour of each, or two where an hour began in between.
    const isNow = ({ at }: { at: Date }): boolean => at.getTime() > Date.now() - 2 * 3_600_000
    const [then, now] = [happened.filter((hour) => !isNow(hour)), happened.filter(isNow)]
    const sum = (of: 'failures' | 'deaths', hours: typeof happened): number =>
      hours.reduce((all, hour) => all + hour[of], 0)
    expect([then, now].map((hours) => [sum('failures', hours), sum('deaths', hours)])).toEqual([
      [2, 2],
      [3, 3],
    ])
    // Three, or four where an hour began between the two.
    const hourOf = ([first]: typeof happened): number => Number(first?.at) / 3_600_000
    expect([3, 4]).toContain(hourOf(now) - hourOf(then))
    expect(found).toMatchObject({ failures: 5, deaths: 5 })
  })

  test('a resolved group stays resolved in an older version, and regresses with an event in a newer one', async () => {
    const kind = newName('back')
    const first = await failing(kind, 'v1')
    await first.die(1)
    await first.worker.worker.stop()
    const [group] = await scene.stint.errors.list({ kind })
    const fingerprint = group?.fingerprint ?? ''
    expect(await scene.stint.errors.resolve(fingerprint, { version: 'v2' })).toMatchObject({
      status: 'resolved',
      resolvedIn: 'v2',
    })
    const old = await failing(kind, 'v1')
    await old.die(1)
    await old.worker.worker.stop()
    expect(await scene.stint.errors.get(fingerprint)).toMatchObject({ status: 'resolved', deaths: 2 })
    expect(old.worker.told('regressed')).toEqual([])
    const next = await failing(kind, 'v3')
    await next.die(1)
    const [told] = await next.worker.tells('regressed')
    expect(told).toMatchObject({ fingerprint, kind, version: 'v3', resolvedIn: 'v2' })
    const found = await scene.stint.errors.get(fingerprint)
    expect(found).toMatchObject({ status: 'open', resolvedIn: null, versions: ['v1', 'v3'] })
    expect(found?.regressedAt).toBeInstanceOf(Date)
  })

  test('a group that is ignored until a time is open after it', async () => {
    const kind = newName('ignored')
    const { worker, die } = await failing(kind)
    await die(1)
    await worker.worker.stop()
    const [group] = await scene.stint.errors.list({ kind })
    const fingerprint = group?.fingerprint ?? ''
    expect(await scene.stint.errors.ignore(fingerprint, { for: '1h' })).toMatchObject({ status: 'ignored' })
    expect(await scene.stint.errors.list({ kind, status: 'open' })).toEqual([])
    expect(
      await scene.stint.errors.ignore(fingerprint, { until: new Date(Date.now() - 1_000) }),
    ).toMatchObject({
      status: 'open',
    })
    expect(await scene.stint.errors.list({ kind, status: 'open' })).toHaveLength(1)
    expect(await scene.stint.errors.ignore(fingerprint)).toMatchObject({
      status: 'ignored',
      ignoredUntil: null,
    })
    expect(await scene.stint.errors.reopen(fingerprint)).toMatchObject({ status: 'open' })
  })

  test('an error group that does not exist is not found', async () => {
    expect(await scene.stint.errors.get('0000000000000000')).toBeUndefined()
    await expect(scene.stint.errors.resolve('0000000000000000')).rejects.toMatchObject({
      code: 'error-group-not-found',
    })
  })
})

describe('stats()', () => {
  test('stats() estimates when a queue is empty from its rates, and gives null for a queue that grows', async () => {
    const own = await createTestDatabase()
    onTestFinished(() => own.drop())
    const stint = new Stint({ connection: own.url })
    onTestFinished(() => stint.close())
    for (const queue of ['shorter', 'longer'])
      await stint.enqueueMany(
        defineJob({ kind: 'k', queue }),
        Array.from({ length: 300 }, () => ({})),
      )
    await new Gauges().refresh(open(own))
    const minute = async (queue: string, enqueued: number, succeeded: number): Promise<void> => {
      await own.query(
        `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, succeeded)
         values (stint.now() - interval '4 minutes', $1, 'k', gen_random_uuid(), 1, $2, $3)`,
        [queue, enqueued, succeeded],
      )
    }
    // Within four minutes, of two processes: 500 jobs fewer in one queue, and 100 more in the other.
    await minute('shorter', 100, 250)
    await minute('shorter', 0, 350)
    await minute('longer', 500, 400)
    const emptyIn = async (queue: string): Promise<number | null | undefined> =>
      (await stint.stats({ queue })).queues[0]?.emptyInMs
    const [shorter, longer] = [await emptyIn('shorter'), await emptyIn('longer')]
    // 300 jobs at 500 in 240 s, and the time that has passed since.
    expect(shorter).toBeGreaterThanOrEqual(144_000)
    expect(shorter).toBeLessThan(180_000)
    expect(longer).toBeNull()
  })

  test('stats() refuses options that it cannot answer', async () => {
    await expect(scene.stint.stats({ step: '30s' })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.stats({ from: new Date(Date.now() + 60_000) })).rejects.toMatchObject({
      code: 'invalid-option',
    })
    await expect(scene.stint.stats({ by: 'quue' as never })).rejects.toMatchObject({ code: 'invalid-option' })
    const from = new Date(Date.now() - 2 * 86_400_000)
    await expect(scene.stint.stats({ from, step: '1m' })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.stats({ steps: '1m' } as never)).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })

  test('stats() has at most 1,000 points, and steps of whole hours for more than 2 days', async () => {
    // The last is the longest span allowed, and one second for a caller that read the clock a second ago.
    const longest = 92 * 86_400_000 + 1_000
    const spans = [60_000, 999 * 60_000, 1_001 * 60_000, 86_400_000, 3 * 86_400_000, longest]
    for (const span of spans) {
      const { stepMs, from, to } = await scene.stint.stats({ from: new Date(Date.now() - span) })
      expect((to.getTime() - from.getTime()) / stepMs).toBeLessThanOrEqual(1_000)
      expect(stepMs % (span > 2 * 86_400_000 ? 3_600_000 : 60_000)).toBe(0)
    }
  })

  test('stats() merges several series into one where it is asked to', async () => {
    const queue = newName('merged')
    await scene.db.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, started, run)
       select date_trunc('minute', now()) - n * interval '1 minute', $1, 'kind' || p, gen_random_uuid(), 1, 2, 2,
              jsonb_build_object(100 + 8 * p, 2)
         from generate_series(1, 5) as n, generate_series(0, 2) as p`,
      [queue],
    )
    const { series: each } = await scene.stint.stats({ queue })
    expect(each.map(({ kind, succeeded }) => [kind, succeeded])).toEqual([
      ...[0, 1, 2].map((n) => [`kind${n}`, 10]),
    ])
    const { series } = await scene.stint.stats({ queue, by: 'queue' })
    expect(series).toMatchObject([
      { queue, kind: null, succeeded: 30, run: each[1]?.run.p50 === null ? {} : { p50: each[1]?.run.p50 } },
    ])
    expect(series[0]?.points.map(({ succeeded }) => succeeded)).toEqual([6, 6, 6, 6, 6])
    // As JSON it is what the console sends.
    expect(JSON.parse(JSON.stringify(series))).toMatchObject([
      { points: [{ at: expect.any(String) as string }, {}, {}, {}, {}] },
    ])
  })

  test('stats() makes points of the given step', async () => {
    const queue = newName('points')
    await scene.db.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, started, run)
       select date_trunc('minute', now()) - n * interval '1 minute', $1, 'k', gen_random_uuid(), 1, 6, 6, '{"100": 6}'
         from generate_series(1, 10) as n`,
      [queue],
    )
    const { series } = await scene.stint.stats({ queue, step: '5m' })
    expect(series).toHaveLength(1)
    expect(series[0]?.succeeded).toBe(60)
    expect(series[0]?.points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(60)
    expect(series[0]?.points.length).toBeLessThanOrEqual(4)
    expect(series[0]?.run.p50).toBeGreaterThan(0)
  })
})
