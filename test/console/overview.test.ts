import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Stint } from '../../src/index.ts'
import type { Console } from '../../src/server.ts'
import { Overview } from '../../src/server/api/overview.ts'
import { SystemReport } from '../../src/server/api/system.ts'
import { bury } from '../support/dead-letters.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { anything, call, openConsole, openStint, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }

/** Each test has a database of its own, because an overview covers all of it. */
let db: TestDatabase
let stint: Stint
beforeEach(async () => {
  db = await createTestDatabase()
  stint = openStint(db.url)
})
afterEach(() => db.drop())

async function overview(options: Parameters<typeof openConsole>[1] = {}, headers = {}): Promise<Overview> {
  const { status, body } = await call(openConsole(db.url, options), 'GET /v1/overview', {
    token: tokens.viewer.token,
    headers,
  })
  expect(status).toBe(200)
  return Overview.parse(body)
}

/** The report of the doctor, once there is one: no request waits for the doctor. */
async function examined(served: Console, as = {}): Promise<SystemReport> {
  let report: SystemReport | undefined
  await eventually(async () => {
    report = SystemReport.parse((await call(served, 'GET /v1/system', as)).body)
    expect(report.findingsAsOf).not.toBeNull()
  })
  if (report === undefined) throw new Error('no report')
  return report
}

function titles({ problems }: Overview): string[] {
  return problems.map(({ title }) => title)
}

describe('overview', () => {
  test('the overview of an empty database lists no problem', async () => {
    const seen = await overview()
    expect(seen).toMatchObject({ problems: [], queues: [], perSecond: 0, failureRate: null, workers: 0 })
    expect(seen.dead).toEqual({ count: 0, exact: true })
  })

  test('the overview names a queue that a live worker cannot claim from', async () => {
    const failing = [{ queue: 'stopped', since: '2026-01-01T00:00:00.000Z', error: 'integer out of range' }]
    await db.query(
      `insert into stint.worker (id, lease_until, about)
       values (gen_random_uuid(), now() + interval '1 hour', jsonb_build_object('queues', '{"stopped":1}'::jsonb,
               'host', 'h', 'pid', 1, 'failing', $1::jsonb))`,
      [JSON.stringify(failing)],
    )
    const { problems } = await overview()
    expect(problems).toMatchObject([
      { level: 'fail', about: 'queue', title: 'Claims from stopped fail', link: '/queues/stopped' },
      { title: 'No maintenance leader' },
    ])
    expect(problems[0]?.detail).toContain('integer out of range')
  })

  test('the overview counts the dead letters of a large queue with what small queues leave of the limit', async () => {
    const give = (queue: string, count: number): Promise<unknown> =>
      db.query(
        `insert into stint.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason, input)
         select gen_random_uuid(), now(), now(), 1, 1, 1, 0, 0, 1, $1, 'job', 'exhausted', '{}' from generate_series(1, $2)`,
        [queue, count],
      )
    for (const [queue, count] of [
      ['large', 2_035],
      ['small', 2],
      ['tiny', 1],
    ] as const)
      await give(queue, count)
    expect((await overview()).dead).toEqual({ count: 2_038, exact: true })
    await give('large', 4_000)
    expect((await overview()).dead).toEqual({ count: 5_000, exact: false })
  })

  test('the overview rounds an estimate in its text about a queue', async () => {
    await db.query(
      `insert into stint.queue_gauge (queue, scheduled, waiting, ready, running, retrying, estimated, kinds, priorities, top_keys)
       values ('lonely', 0, 0, 150007, 0, 0, '{ready}', '{}', '{}', '[]')`,
    )
    await db.query('update stint.gauge_refresh set refreshed_at = now()')
    await givenWorker(db)
    const seen = await overview()
    expect(seen.problems[0]?.detail).toMatch(/^≈150k ready jobs wait, and no live worker/)
  })

  test('the overview counts the workers that run jobs, and not those that only execute operations', async () => {
    await givenWorker(db, { queues: { mail: 5, stint: 2 } })
    await givenWorker(db, { queues: { stint: 2 } })
    expect(await overview()).toMatchObject({ workers: 1, slots: 5 })
  })

  test('the overview names queues with ready jobs and no worker, even if no worker refreshes the gauges', async () => {
    await stint.enqueue(anything, null, { queue: 'lonely' })
    const seen = await overview()
    expect(titles(seen)).toEqual(['No worker serves lonely'])
    expect(seen.problems[0]).toMatchObject({ level: 'fail', about: 'queue', link: '/queues/lonely' })
    expect(seen.queues).toMatchObject([{ queue: 'lonely', ready: 1, workers: 0, slots: 0 }])
  })

  test('the overview names a queue whose oldest ready job has waited for more than 5 minutes', async () => {
    await givenWorker(db, { queues: { slow: 5, fast: 5 }, silentFor: '25 seconds' })
    const { id } = await stint.enqueue(anything, null, { queue: 'slow' })
    await stint.enqueue(anything, null, { queue: 'fast' })
    await db.query(`update stint.job set run_at = now() - interval '10 minutes' where id = $1`, [id])
    const seen = await overview()
    expect(titles(seen)).toContain('slow is behind')
    expect(titles(seen).some((title) => title.includes('fast'))).toBe(false)
    expect(seen.slots).toBe(10)
  })

  test('the overview names workers that are late or lost, and not those that stopped in order', async () => {
    await givenWorker(db, { silentFor: '26 seconds' })
    await givenWorker(db, { lost: { ago: '5 minutes', death: 'killed by SIGKILL' } })
    await givenWorker(db, { lost: { ago: '5 minutes', inGoodOrder: false } })
    await givenWorker(db, { lost: { ago: '5 minutes', inGoodOrder: true } })
    await givenWorker(db, { lost: { ago: '2 hours', death: 'long ago' } })
    const seen = await overview()
    expect(titles(seen)).toEqual([
      'Worker here/42 is late',
      'Worker here/42 is lost',
      'Worker here/42 is lost',
    ])
    expect(seen.problems.map(({ detail }) => detail).join()).toContain('killed by SIGKILL')
    expect(seen.workers).toBe(1)
  })

  test('the overview names an error that jobs die of until it is resolved or ignored or has no dead letter left', async () => {
    const fingerprint = 'abcdef0123456789'
    const { id } = await stint.enqueue(anything, null)
    await bury(db, id, { fingerprint })
    const errors = async (): Promise<Overview['problems']> =>
      (await overview()).problems.filter(({ about }) => about === 'error-group')
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
       values ($1, 'card.charge', 'transient', 'CardDeclined', 'do not honor <id>', 'do not honor 7', now(), now(), $2)`,
      [fingerprint, randomUUID()],
    )
    await db.query(
      `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
       values ($1, date_trunc('hour', now()), $2, 1, 5, 3)`,
      [fingerprint, randomUUID()],
    )
    const seen = await errors()
    expect(seen).toMatchObject([
      {
        level: 'fail',
        about: 'error-group',
        title: 'CardDeclined: do not honor <id>',
        link: `/dead?group=${fingerprint}`,
      },
    ])
    expect(seen[0]?.detail).toContain('3 jobs of card.charge')
    await stint.errors.resolve(fingerprint)
    expect(await errors()).toEqual([])
    await stint.errors.reopen(fingerprint)
    expect(await errors()).toHaveLength(1)
    await stint.dead.replay(id)
    expect(await errors()).toEqual([])
  })

  test('the overview names failing schedules, missed fires, failing services, stopped operations and pending migrations', async () => {
    await stint.schedules.set({ name: 'nightly', job: anything, cron: '0 2 * * *' })
    await stint.schedules.set({ name: 'hourly', job: anything, cron: '0 * * * *' })
    await db.query(`update stint.schedule set failures = 2 where name = 'nightly'`)
    await db.query(
      `insert into stint.fire (schedule, fire_at, outcome, reason) values ('hourly', now() - interval '1 hour', 'missed', 'nobody was there')`,
    )
    await db.query(
      `insert into stint.service (name, last_error, last_error_at) values ('days', 'no rights', now())`,
    )
    await db.query(
      `insert into stint.operation (id, job_id, action, as_of, settings, state, note, reason, actor, origin)
       values ($1, $1, 'replay', now(), '{}', 'stopped', 'the same error came back', 'try', 'ana', 'cli')`,
      [randomUUID()],
    )
    await db.query(`delete from stint.migration where version = (select max(version) from stint.migration)`)
    const seen = titles(await overview())
    expect(seen).toEqual([
      '1 migration not applied',
      'Schedule nightly does not fire',
      'Schedule hourly missed 1 fire',
      'Maintenance service days fails',
      'A replay by ana was stopped by its rule',
    ])
  })

  test('the overview sums up the last hour and the dead letters', async () => {
    await givenMinute(db, {
      queue: 'a',
      ago: 1,
      succeeded: 90,
      failed: 5,
      dead: 5,
      wait: { '100': 90, '200': 10 },
    })
    await givenMinute(db, { queue: 'b', ago: 2, succeeded: 100 })
    const { id } = await stint.enqueue(anything, null, { queue: 'a' })
    await bury(db, id)
    const seen = await overview()
    expect(seen.failureRate).toBeCloseTo(10 / 200)
    expect(seen.perSecond).toBeGreaterThan(0)
    expect(seen.dead).toEqual({ count: 1, exact: true })
    expect(seen.waitP95).not.toBeNull()
    const a = seen.queues.find(({ queue }) => queue === 'a')
    expect(a?.failureRate).toBeCloseTo(0.1)
    expect(a?.spark).toHaveLength(60)
    expect(a?.spark.reduce((sum, jobs) => sum + jobs, 0)).toBe(95)
  })

  test('a caller who may see one queue gets an overview of only that queue', async () => {
    await stint.enqueue(anything, null, { queue: 'mine' })
    await stint.enqueue(anything, null, { queue: 'theirs' })
    const seen = await overview({
      tokens: [],
      auth: () => ({
        actor: 'ana',
        role: 'viewer',
        can: (_, of) => of?.queue === undefined || of.queue === 'mine',
      }),
    })
    expect(seen.queues.map(({ queue }) => queue)).toEqual(['mine'])
    expect(titles(seen)).toEqual(['No worker serves mine'])
  })
  test('the overview shows what the doctor finds, without findings that name things the caller may not see', async () => {
    await stint.enqueue(anything, null, { queue: 'theirs' })
    const can = (_: string, of?: { queue?: string | undefined }): boolean => of?.queue !== 'theirs'
    const all = openConsole(db.url)
    const some = openConsole(db.url, { tokens: [], auth: () => ({ actor: 'ana', role: 'viewer', can }) })
    const report = await examined(all, viewer)
    expect(report.findings.length).toBeGreaterThan(10)
    expect(JSON.stringify(report.findings)).toContain('theirs')
    const partial = await examined(some)
    expect(partial.findings.length).toBeGreaterThan(10)
    expect(JSON.stringify(partial)).not.toContain('theirs')
    // The overview shows the doctor's last findings too.
    const whole = Overview.parse((await call(all, 'GET /v1/overview', viewer)).body)
    const bad = report.findings.filter(({ check, level }) => check === 'fsync' && level === 'fail')
    expect(whole.problems.map(({ title }) => title)).toEqual(
      expect.arrayContaining(bad.map(({ title }) => title)),
    )
    expect((await call(some, 'GET /v1/overview')).text).not.toContain('theirs')
  })
})
