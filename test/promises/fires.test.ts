import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import { eventually, workerScene } from '../support/workers.ts'

/** How many fires the test makes; the full lane sets more minutes. */
const size = {
  schedules: 5,
  minutes: Number(process.env['STINT_FIRES_MINUTES'] ?? 200),
  step: 5,
  processes: 5,
}

const scene = workerScene()
const program = join(import.meta.dirname, 'programs/scheduler.mjs')
const job = defineJob({ kind: 'tick.probe', queue: 'fires' })

test('five schedulers, one of which is killed at every step, store exactly one job for every fire time', async () => {
  const clock = await movableClock(scene.db)
  const names = Array.from({ length: size.schedules }, (_, index) => `every-minute-${index}`)
  const missed = { policy: 'all', limit: 1_000, window: '24h' } as const
  for (const name of names) await scene.stint.schedules.set({ name, job, cron: '* * * * *', missed })
  const starts = new Map(
    (
      await scene.db.query<{ name: string; from: Date }>(
        'select name, decided_to as from from stint.schedule',
      )
    ).map(({ name, from }) => [name, from.getTime()]),
  )
  const troubles: string[] = []
  const running: ChildProcess[] = []
  const begin = (): void => {
    const child = fork(program, [scene.db.url], { stdio: 'ignore' })
    child.on('message', (said) => {
      if (said !== 'tick') troubles.push(JSON.stringify(said))
    })
    running.push(child)
  }
  onTestFinished(() => {
    for (const child of running) child.kill('SIGKILL')
  })
  for (let count = 0; count < size.processes; count++) begin()
  let kills = 0
  for (let minute = 0; minute < size.minutes; minute += size.step) {
    await clock.advance(`${size.step} minutes`)
    const victim = running.shift()
    // Killed just as it begins a tick, somewhere between its look and the answer.
    await new Promise((resolve) => victim?.once('message', resolve))
    victim?.kill('SIGKILL')
    kills++
    begin()
  }
  await eventually(async () => {
    const [row] = await scene.db.query<{ n: string }>(
      'select count(*) as n from stint.schedule where next_fire_at <= stint.now()',
    )
    return row?.n === '0'
  }, 'everything is decided')
  // One statement, so that all counts are of one moment: the schedulers and the clock go on.
  const decided = await scene.db.query<
    Record<'fired' | 'other' | 'jobs', number> & { name: string; to: Date }
  >(
    `select s.name, s.decided_to as to,
            count(*) filter (where outcome = 'fired')::integer as fired,
            count(*) filter (where outcome <> 'fired')::integer as other,
            count(distinct j.id)::integer as jobs
       from stint.schedule s join stint.fire f on f.schedule = s.name left join stint.job j on j.id = f.job_id
      group by s.name`,
  )
  expect(decided.map(({ name }) => name).sort()).toEqual([...names].sort())
  for (const { name, to, ...counted } of decided) {
    const times = Math.floor(to.getTime() / 60_000) - Math.floor((starts.get(name) ?? NaN) / 60_000)
    expect(times).toBeGreaterThanOrEqual(size.minutes)
    expect(counted).toEqual({ fired: times, other: 0, jobs: times })
  }
  const orphans = await scene.db.query(
    'select from stint.job j where not exists (select from stint.fire f where f.job_id = j.id)',
  )
  expect(orphans).toEqual([])
  expect(kills).toBe(size.minutes / size.step)
  expect(troubles).toEqual([])
}, 240_000)
