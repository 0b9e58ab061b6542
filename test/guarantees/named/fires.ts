import { expect } from 'vitest'
import { dueSql } from '../../../src/schedules/fires/due.sql.ts'
import { fireSql } from '../../../src/schedules/fires/fire.sql.ts'
import { movableClock } from '../../support/clock.ts'
import type { TestDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { statementMarks } from '../../support/statement-marks.ts'
import { createScene } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'

/** Long intervals: moving the clock must not make a worker count as lost, and no timer may wake the schedulers. */
const scheduling = { lease: '1h', sweepEvery: '1h', upkeep: false }

/** Each fire time of a schedule stores one job, even with a late scheduler or a clock that goes back. */
export async function firesManySchedulers(build: Build): Promise<void> {
  const { db, stint, contract, worker } = await createScene(build)
  const clock = await movableClock(db)
  const job = { ...contract, queue: 'unserved' }
  const name = 'minutely'
  const missed = { policy: 'all' } as const
  const set = (input: string): Promise<unknown> =>
    stint.schedules.set({ name, job, cron: '* * * * *', input, missed })
  await set('first')
  const proxy = await startFaultProxy(db.url)
  const marks = statementMarks(fireSql)

  // One scheduler has looked, and its fire is held back while another scheduler fires the same time.
  await worker('late', { ...scheduling, connection: proxy.url })
  const firing = proxy.holdNext(marks)
  await clock.advance('1 minute')
  await wakeAll(db)
  const letPass = await firing
  await worker('early', scheduling)
  await eventually(async () => {
    expect(await dueIn(db)).toBe(0)
  })
  const looksAgain = proxy.saw(statementMarks(dueSql), 1)
  letPass()
  await wakeAll(db)
  await looksAgain
  const once = await countsOf(db)
  expect(once).toEqual({ fires: once.fires, jobs: once.fires, ofTheirOwn: once.fires })

  // The clock goes back and the schedule is changed, so its next times are computed again.
  await clock.advance('-5 minutes')
  await set('second')
  await clock.advance('5 minutes')
  await wakeAll(db)
  await eventually(async () => {
    expect(await dueIn(db)).toBe(0)
  })
  const again = await countsOf(db)
  expect(again.fires).toBeGreaterThanOrEqual(5)
  expect(again).toEqual({ fires: again.fires, jobs: again.fires, ofTheirOwn: again.fires })
}

/** Notifies that schedules were changed, as a client does. */
async function wakeAll(db: TestDatabase): Promise<void> {
  await db.query(`select pg_notify('stint_ready', '{"schedules":true}')`)
}

async function dueIn(db: TestDatabase): Promise<number> {
  await wakeAll(db)
  const [row] = await db.query<{ due: number }>(
    'select count(*)::integer as due from stint.schedule where next_fire_at <= stint.now()',
  )
  return row?.due ?? NaN
}

/** Counts the fires, the jobs, and the fires that have a job of their own. */
async function countsOf(db: TestDatabase): Promise<{ fires: number; jobs: number; ofTheirOwn: number }> {
  const [row] = await db.query<{ fires: number; jobs: number; ofTheirOwn: number }>(
    `select (select count(*)::integer from stint.fire where outcome = 'fired') as fires,
            (select count(*)::integer from stint.job) as jobs,
            (select count(*)::integer from stint.fire join stint.job on id = job_id) as "ofTheirOwn"`,
  )
  return row ?? { fires: NaN, jobs: NaN, ofTheirOwn: NaN }
}
