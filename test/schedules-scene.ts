import { beforeAll, beforeEach } from 'vitest'
import { defineJob, defineSchedule } from '../src/index.ts'
import type { Fire, Schedule, ScheduleDefinition } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import { setSchedule } from '../src/schedules/set.ts'
import { tick } from '../src/schedules/fires/tick.ts'
import type { Tick } from '../src/schedules/fires/tick.ts'
import { movableClock } from './support/clock.ts'
import type { TestClock } from './support/clock.ts'
import { newName, workerScene } from './support/workers.ts'
import type { Scene } from './support/workers.ts'

export const job = defineJob({ kind: 'report.send', queue: 'reports', priority: 7, retry: { attempts: 3 } })

/** A schedule that fires every minute, unless `more` says otherwise. */
export function given(more: Partial<ScheduleDefinition> = {}): Schedule {
  return defineSchedule({
    name: newName('s'),
    job,
    cron: '* * * * *',
    input: { a: 1 },
    ...more,
  })
}

export interface SchedulesScene extends Scene {
  readonly clock: TestClock
  /** Moves the clock to a full minute and some seconds, so that the test knows what is due. */
  toMinute: (second?: number) => Promise<void>
  /**
   * Runs one pass of the scheduler, as a worker with these schedules in its code does. They are stored as if set at run
   * time, so that no live worker has to have them.
   */
  ticked: (mine?: readonly Schedule[]) => Promise<Tick>
  /** The stored fires of a schedule, the oldest first. */
  firesOf: (name: string) => Promise<Fire[]>
  /** The outcomes of these fires. */
  outcomesOf: (name: string) => Promise<string[]>
}

/** A database whose clock the tests of one file can move. */
export function schedulesScene(): SchedulesScene {
  const scene = workerScene()
  let clock: TestClock | undefined
  beforeAll(async () => {
    clock = await movableClock(scene.db)
  })
  // So that no minute begins between two lines of a test.
  beforeEach(() => toMinute())

  async function toMinute(second = 5): Promise<void> {
    const [row] = await scene.db.query<{ s: string }>('select extract(second from stint.now()) as s')
    await here.clock.advance(`${60 + second - Number(row?.s)} seconds`)
  }

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

  const here: SchedulesScene = {
    get db() {
      return scene.db
    },
    get stint() {
      return scene.stint
    },
    get clock() {
      if (clock === undefined) throw new Error('There is no clock outside of a test')
      return clock
    },
    ...{ toMinute, ticked, firesOf, outcomesOf },
  }
  return here
}
