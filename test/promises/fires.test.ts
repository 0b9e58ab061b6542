import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/entry/index.ts'
import { movableClock } from '../support/clock.ts'
import { eventually, workerScene } from '../support/workers.ts'

/** How much of it: the full lane sets more. */
const size = {
  schedules: 5,
  minutes: Number(process.env['STINT_FIRES_MINUTES'] ?? 200),
  step: 5,
  processes: 5,
}

const scene = workerScene()
const program = join(import.meta.dirname, 'programs/scheduler.mjs')
const job = defineJob({ kind: 'tick.probe', queue: 'fires' })

test('five schedulers, one of them killed at every step: each time makes exactly one job', async () => {
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
    // Just as it begins to tick: somewhere between the look and the answer.
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
  const [end] = await scene.db.query<{ ms: string }>(
    `select extract(epoch from min(decided_to)) * 1000 as ms from stint.schedule`,
  )
  let expected = 0
  for (const from of starts.values())
    expected += Math.floor(Number(end?.ms) / 60_000) - Math.floor(from / 60_000)
  expect(expected).toBeGreaterThanOrEqual(size.schedules * size.minutes)
  const [counted] = await scene.db.query<Record<'fired' | 'other' | 'jobs' | 'orphans', string>>(
    `select count(*) filter (where outcome = 'fired') as fired,
            count(*) filter (where outcome <> 'fired') as other,
            count(distinct j.id) as jobs,
            (select count(*) from stint.job k where not exists (select from stint.fire g where g.job_id = k.id)) as orphans
       from stint.fire f left join stint.job j on j.id = f.job_id`,
  )
  expect(counted).toEqual({ fired: String(expected), other: '0', jobs: String(expected), orphans: '0' })
  expect(kills).toBe(size.minutes / size.step)
  expect(troubles).toEqual([])
})
