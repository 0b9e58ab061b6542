import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { channelOf, schedulesPayload } from '../../src/jobs/wake-up/hint.ts'
import { movableClock } from '../support/clock.ts'
import type { TestDatabase } from '../support/database.ts'
import { monotonicMs } from '../support/ledger.ts'
import type { Ledger } from '../support/ledger.ts'
import { startOwnServer } from '../support/own-server.ts'
import { repository, spawnProgram } from '../support/worker-process.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'

const processes = 5
const minuteMs = 60_000
/** Where a scheduler is killed; the ticks use them in turn. */
const points = ['beforeLook', 'looked', 'sent', 'stored', 'betweenFires'] as const

experiment(
  {
    name: 'fires',
    title: 'five schedulers, one of which is killed at every tick, store exactly one job for every fire time',
    method:
      'Five workers have a PostgreSQL of their own, with schedules that fire every minute. At each tick the clock of the database moves on by a minute, and all five workers are woken at once. The first worker to reach the chosen point of the tick is killed there by SIGKILL and replaced. The points are: before it looks for due schedules, after it looked, after it sent a fire, after it got the answer, and between two fires. At some ticks the server is stopped, fast or immediately, and started again.',
    short: { ticks: 5, schedules: 50, restarts: 2 },
    medium: { ticks: 40, schedules: 250, restarts: 4 },
    long: { ticks: 400, schedules: 250, restarts: 40 },
    timeoutMs: 300_000,
  },
  async ({ size, random }) => {
    const server = await startOwnServer()
    const { db, ledger, stint, contract } = await createScene(undefined, server.db)
    const clock = await movableClock(db)
    const firstAt = Math.ceil((await nowOf(db)) / minuteMs + 1) * minuteMs
    const names = Array.from({ length: size.schedules }, (_, index) => `every-minute-${index}`)
    for (const name of names) {
      await stint.schedules.set({
        name,
        job: contract,
        every: '1m',
        missed: { policy: 'all', limit: 1_000 },
        startsAt: new Date(firstAt),
        endsAt: new Date(firstAt + (size.ticks - 1) * minuteMs),
      })
    }
    const schedulers = new Schedulers(ledger, db.url, await newFolder())
    for (let count = 0; count < processes; count++) schedulers.spawn()
    const restartAt = new Set(
      Array.from({ length: size.restarts }, (_, n) =>
        Math.floor(((n + random()) * size.ticks) / size.restarts),
      ),
    )
    let restarts = 0
    for (let tick = 0; tick < size.ticks; tick++) {
      const point = points[tick % points.length] ?? 'sent'
      await schedulers.arm(tick, point)
      await clock.moveTo(new Date(firstAt + tick * minuteMs + 1_000))
      const restarting = restartAt.has(tick)
        ? server.stop(restarts++ % 2 === 0 ? 'fast' : 'immediate').then(() => server.start())
        : undefined
      await untilDecided(db)
      await restarting
      await schedulers.replace(tick)
    }
    const kills = ledger.lines({ type: 'dies' })
    const { fired, ...verdicts } = await judge(db, {
      names,
      times: Array.from({ length: size.ticks }, (_, tick) => new Date(firstAt + tick * minuteMs)),
    })
    return {
      counts: { fires: fired, kills: kills.length, serverRestarts: restarts },
      verdicts: { ...verdicts, schedulerExits: schedulers.exits },
      measures: Object.fromEntries(
        points.map((point) => [`killed ${point}`, kills.filter((line) => line['point'] === point).length]),
      ),
    }
  },
)

/** Workers that only fire schedules and serve no queue with jobs. A killed one is replaced. */
class Schedulers {
  readonly #ledger: Ledger
  readonly #url: string
  readonly #folder: string
  readonly #live = new Map<string, WorkerProcess>()
  #count = 0
  /** Processes that ended by themselves after they had started. */
  exits = 0

  constructor(ledger: Ledger, url: string, folder: string) {
    this.#ledger = ledger
    this.#url = url
    this.#folder = folder
  }

  spawn(): void {
    const name = `scheduler ${++this.#count}`
    const options = {
      connection: this.#url,
      queues: { none: 1 },
      log: false,
      pollFloor: '60s',
      // The clock moves by hours: that must not make a worker count as lost, nor remove history.
      lease: '1h',
      sweepEvery: '1h',
      upkeep: false,
    }
    const setup = { name, ledger: this.#ledger.file, folder: this.#folder, options, isTerse: true }
    const worker = spawnProgram(
      join(repository, 'test/promises/programs/worker.mjs'),
      { ...setup, jobs: [{ kind: 'none', queue: 'none' }] },
      ['--import', join(repository, 'test/guarantees/programs/failpoints.mjs')],
    )
    this.#live.set(name, worker)
    void worker.exited.then(({ signal }) => {
      this.#live.delete(name)
      if (signal === 'SIGKILL') return
      // A worker cannot start while the server is down; then it is started again.
      if (this.#ledger.lines({ name: 'ready', worker: name }).length > 0) this.exits++
      else this.spawn()
    })
  }

  /** Tells all schedulers where to die, and waits until those that are ready, at least most of them, have read it. */
  async arm(tick: number, point: string): Promise<void> {
    const most = processes - 2
    await this.#ledger.wroteMany(({ name, worker }) => name === 'ready' && this.#live.has(worker), most)
    const ready = new Set(this.#ledger.lines({ name: 'ready' }).map(({ worker }) => worker))
    const told = [...this.#live].filter(([name]) => ready.has(name)).length
    for (const worker of this.#live.values()) worker.tell(`die ${tick} ${point}`)
    await this.#ledger.wroteMany(
      ({ type, tick: of, worker }) => type === 'armed' && of === tick && ready.has(worker),
      told,
    )
  }

  /** Waits until the scheduler of this tick is dead, and starts another. */
  async replace(tick: number): Promise<void> {
    const { worker } = await this.#ledger.wrote({ type: 'dies', tick })
    await this.#live.get(worker)?.exited
    this.spawn()
  }
}

/**
 * Wakes all schedulers until nothing is due: at once, and again when nothing has changed for a while, because a killed
 * scheduler leaves fires that the others have skipped.
 */
async function untilDecided(db: TestDatabase): Promise<void> {
  for (let seen = -1, since = 0; ;) {
    const [row] = await db.query<{ due: number }>(
      'select count(*)::integer as due from stint.schedule where next_fire_at <= stint.now()',
    )
    const due = row?.due ?? NaN
    if (due === 0) return
    if (seen === -1 || (due === seen && monotonicMs() - since > 200)) {
      await db.query('select pg_notify($1, $2)', [channelOf('stint'), schedulesPayload])
      since = monotonicMs()
    } else if (due !== seen) since = monotonicMs()
    seen = due
    await pause(25)
  }
}

/** Compares the stored fires and jobs with the expected fire times. */
async function judge(
  db: TestDatabase,
  { names, times }: { names: readonly string[]; times: readonly Date[] },
): Promise<
  Record<'fired' | 'timesMissing' | 'timesInvented' | 'notFired' | 'jobsDoubled' | 'jobsMissing', number>
> {
  const [row] = await db.query<Awaited<ReturnType<typeof judge>>>(
    `with expected as (
       select name, at from unnest($1::text[]) as name cross join unnest($2::timestamptz[]) as at
     ), noted as (
       select f.*, e.name is not null as is_expected
         from stint.fire as f
         left join expected as e on e.name = f.schedule and e.at = f.fire_at
     ), fires_of as (
       select job.id, count(noted.job_id) as fires
         from stint.job
         left join noted on noted.job_id = job.id
        group by job.id
     )
     select (select count(*)::integer from noted where outcome = 'fired') as fired,
            (select count(*)::integer from expected
              where not exists (select from noted where noted.schedule = expected.name and noted.fire_at = expected.at)) as "timesMissing",
            (select count(*)::integer from noted where not is_expected) as "timesInvented",
            (select count(*)::integer from noted where outcome <> 'fired') as "notFired",
            (select count(*)::integer from fires_of where fires <> 1) as "jobsDoubled",
            (select count(*)::integer from noted
              where outcome = 'fired' and not exists (select from stint.job where id = job_id)) as "jobsMissing"`,
    [names, times],
  )
  if (row === undefined) throw new Error('The database gave no answer')
  return row
}

async function nowOf(db: TestDatabase): Promise<number> {
  const [row] = await db.query<{ now: Date }>('select stint.now() as now')
  return row?.now.getTime() ?? NaN
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stint-fires-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
