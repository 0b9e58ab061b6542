/*
 * A schedule whose input comes from code, run and backfilled by a process that does not have the code: that process asks
 * for the fires, and a worker that has the code makes their jobs.
 */
import { expect, test } from 'vitest'
import { defineSchedule } from '../src/index.ts'
import type { JobContract, Schedule } from '../src/index.ts'
import { call, openConsole, tokens } from './console/scene.ts'
import { runStint } from './support/cli.ts'
import { start } from './support/processes.ts'
import { eventually, newJob, newName, startWorker, workerScene } from './support/workers.ts'
import type { TestWorker } from './support/workers.ts'

const scene = workerScene()
const hour = 3_600_000

/** Fires once, in 2099, so that only asked fires make jobs. Every hour of 1 March 2026 can be backfilled. */
function given(
  job: JobContract,
  input: (fireAt: Date) => unknown = (fireAt) => ({ at: fireAt.toISOString() }),
): Schedule {
  const at = Array.from({ length: 24 }, (_, index) => new Date(Date.UTC(2026, 2, 1) + index * hour))
  return defineSchedule({
    name: newName('coded'),
    job,
    at: [...at, '2099-01-01T00:00:00Z'],
    input: input,
    missed: 'skip',
    startsAt: '2026-01-01T00:00:00Z',
  })
}

const range = { from: '2026-03-01T00:00:00Z', to: '2026-03-01T02:00:00Z' }
const inShell = ['--from', range.from, '--to', range.to]

/** A worker that has the schedule in its code. It serves no queue, so that the jobs stay as they were made. */
function withCode(schedule: Schedule): Promise<TestWorker> {
  return startWorker(scene, { queues: { [newName('none')]: 1 } }, (worker) =>
    worker.handle(newJob(), () => undefined).schedule(schedule),
  )
}

/** Stored by a worker that has stopped. */
async function orphan(schedule: Schedule): Promise<void> {
  const { worker } = await withCode(schedule)
  await worker.stop()
  await eventually(
    async () => (await scene.stint.schedules.get(schedule.name))?.isOrphan === true,
    'the worker is gone',
  )
}

interface MadeRow extends Record<string, unknown> {
  id: string
  input: unknown
  fireAt: string
}

function jobsOf({ contract }: Schedule): Promise<MadeRow[]> {
  return scene.db.query<MadeRow>(
    `select id, input, options ->> 'fireAt' as "fireAt" from stint.jobs where queue = $1 order by options ->> 'fireAt'`,
    [contract.queue],
  )
}

async function made(schedule: Schedule, count: number): Promise<MadeRow[]> {
  await eventually(async () => (await jobsOf(schedule)).length >= count, `${count} jobs`)
  return jobsOf(schedule)
}

test('a schedule whose input comes from code is run and backfilled from a shell, and a worker makes the jobs', async () => {
  const schedule = given(newJob())
  const { name } = schedule
  const worker = await withCode(schedule)
  const asked = "a worker that has this schedule's code stores the"

  const ran = await runStint(['schedule', 'run', name, '--reason', 'now'], scene.db.url)
  expect(ran).toMatchObject({ code: 0, stderr: `asked for 1 fire; ${asked} job\n` })
  const jobId = ran.stdout.trim()
  const [fired] = await worker.tells('fired', ({ schedule: one }) => one === name)
  expect(fired?.fires).toMatchObject([{ outcome: 'fired', jobId, reason: 'run now' }])
  const [job] = await made(schedule, 1)
  expect(job).toMatchObject({ id: jobId, input: { at: job?.fireAt } })

  const preview = await runStint(['schedule', 'backfill', name, ...inShell, '--dry-run'], scene.db.url)
  expect(preview).toMatchObject({ code: 0, stderr: '3 of 3 would be asked for\n' })
  const filled = await runStint(['schedule', 'backfill', name, ...inShell], scene.db.url)
  expect(filled).toMatchObject({ code: 0, stderr: `asked for 3 fires; ${asked} jobs\n` })
  const jobs = (await made(schedule, 4)).slice(0, 3)
  expect(jobs.map(({ fireAt }) => fireAt)).toEqual(
    [0, 1, 2].map((index) => new Date(Date.UTC(2026, 2, 1, index)).toISOString()),
  )
  for (const { id, input, fireAt } of jobs) {
    expect(input).toEqual({ at: fireAt })
    expect(filled.stdout).toContain(id)
  }
  // Fires that have a job are not made again.
  const again = await scene.stint.schedules.backfill(name, range)
  expect(again.map(({ action, before }) => `${action} ${before}`)).toEqual(Array(3).fill('kept fired'))
  expect(again.map((one) => one.jobId)).toEqual(jobs.map(({ id }) => id))
})

test('an asked fire waits while no live worker has its code, and page, shell and HTTP say so', async () => {
  const schedule = given(newJob())
  const { name } = schedule
  await orphan(schedule)
  const served = openConsole(scene.db.url)
  const { token } = tokens.admin
  const path = `/v1/schedules/${name}`
  const ran = await call(served, `POST ${path}/run`, { token, json: { reason: 'now' } })
  expect(ran.body).toMatchObject({ action: 'asked', isOrphan: true })
  const filled = await call(served, `POST ${path}/backfill`, { token, json: range })
  expect(filled.body).toMatchObject({ count: 3, isOrphan: true, items: Array(3).fill({ action: 'asked' }) })
  // The same fires again have the same ids.
  const again = await call(served, `POST ${path}/backfill`, { token, json: range })
  const ids = (body: unknown): string[] =>
    (body as { items: { jobId: string }[] }).items.map((one) => one.jobId)
  expect(again.body).toMatchObject({ count: 0, items: Array(3).fill({ action: 'kept', before: 'asked' }) })
  expect(ids(again.body)).toEqual(ids(filled.body))

  expect((await call(served, `GET ${path}`, { token })).body).toMatchObject({ askedFires: 4, isOrphan: true })
  const shown = await runStint(['schedule', 'get', name], scene.db.url)
  expect(shown.stdout).toContain('4 fires: no live worker has its code')
  const typed = await runStint(['schedule', 'run', name], scene.db.url)
  expect(typed.stderr).toBe(
    "asked for 1 fire; no live worker has this schedule's code: start one that has it\n",
  )
  expect(await jobsOf(schedule)).toEqual([])

  // A worker with the code starts.
  await withCode(schedule)
  const jobs = await made(schedule, 5)
  const wanted = [...ids(filled.body), (ran.body as { jobId: string }).jobId, typed.stdout.trim()]
  expect(jobs.map(({ id }) => id).sort()).toEqual(wanted.sort())
  expect(await scene.stint.schedules.get(name)).toMatchObject({ askedFires: 0 })
})

test('of several workers that have the code, one makes each asked fire', async () => {
  const schedule = given(newJob(), async (fireAt) => {
    // Long enough for the other workers to have read the same fire.
    await new Promise((resolve) => setTimeout(resolve, 20))
    return { at: fireAt.toISOString() }
  })
  await Promise.all([withCode(schedule), withCode(schedule), withCode(schedule)])
  const asked = await scene.stint.schedules.backfill(schedule.name, {
    from: '2026-03-01T00:00:00Z',
    to: '2026-03-01T23:00:00Z',
  })
  const jobs = await made(schedule, 24)
  expect(jobs.map(({ id }) => id)).toEqual(asked.map(({ jobId }) => jobId))
  const fires = await scene.stint.schedules.fires(schedule.name, { limit: 100 })
  expect(new Set(fires.map(({ outcome, reason }) => `${outcome} ${reason}`))).toEqual(
    new Set(['fired backfill']),
  )
})

test('an asked fire whose worker is killed while it makes the input is made once, by another worker', async () => {
  const schedule = given(newJob())
  const { name, contract } = schedule
  await orphan(schedule)
  const { jobId } = await scene.stint.schedules.runNow(name)
  // The same definition, with a function that ends its process between reading the fire and storing its job.
  const program = `
    import { defineJob, defineSchedule } from 'stint'
    import { Worker } from 'stint/worker'
    const job = defineJob(${JSON.stringify({ kind: contract.kind, queue: contract.queue })})
    const at = ${JSON.stringify((schedule.rule.spec as { atMs: readonly number[] }).atMs)}.map((ms) => new Date(ms))
    const schedule = defineSchedule({
      name: '${name}', job, at, missed: 'skip', startsAt: '2026-01-01T00:00:00Z',
      input: () => process.kill(process.pid, 'SIGKILL'),
    })
    const options = { connection: process.argv[1], log: false, queues: { '${newName('none')}': 1 } }
    await new Worker({ ...options, schedules: [schedule] }).handle(job, () => undefined).start()`
  const killed = start(process.execPath, ['--input-type=module', '-e', program, scene.db.url])
  expect(await killed.finished).toMatchObject({ signal: 'SIGKILL', stderr: '' })
  expect(await scene.stint.schedules.fires(name)).toMatchObject([{ outcome: 'asked', jobId }])
  expect(await jobsOf(schedule)).toEqual([])

  const others = await Promise.all([withCode(schedule), withCode(schedule)])
  await made(schedule, 1)
  await Promise.all(others.map(({ worker }) => worker.stop()))
  expect(await jobsOf(schedule)).toMatchObject([{ id: jobId }])
  expect(await scene.stint.schedules.fires(name)).toMatchObject([{ outcome: 'fired', jobId }])
})

test('an asked fire whose input cannot be made says why, delays no other, and can be asked for again', async () => {
  let isBroken = true
  const schedule = given(newJob(), (fireAt) => {
    if (
      isBroken &&
      fireAt.getUTCFullYear() === 2026 &&
      fireAt.getUTCMonth() === 2 &&
      fireAt.getUTCHours() === 1
    )
      throw new Error('no figures for that hour')
    return { at: fireAt.toISOString() }
  })
  const { name } = schedule
  const worker = await withCode(schedule)
  await scene.stint.schedules.backfill(name, range)
  await worker.tells('scheduleFailed', ({ schedule: one }) => one === name)
  expect(await made(schedule, 2)).toHaveLength(2)
  const failed = async (): Promise<unknown> =>
    (await scene.stint.schedules.fires(name)).find(({ outcome }) => outcome === 'missed')
  await eventually(async () => (await failed()) !== undefined, 'the fire says so')
  expect(await failed()).toMatchObject({
    fireAt: new Date('2026-03-01T01:00:00Z'),
    jobId: null,
    reason: 'asked for, but its job could not be made: no figures for that hour',
  })
  // The next regular fire is not delayed.
  expect(await scene.stint.schedules.get(name)).toMatchObject({ failures: 0, askedFires: 0 })
  isBroken = false
  await scene.stint.schedules.backfill(name, range)
  expect(await made(schedule, 3)).toHaveLength(3)
})

test('asked fires written by other programs stop no worker and no other fire', async () => {
  const schedule = given(newJob())
  const { name } = schedule
  await orphan(schedule)
  const plant = (of: string, fireAt: string, id = 'gen_random_uuid()'): Promise<unknown> =>
    scene.db.query(
      `insert into stint.fire (schedule, fire_at, outcome, job_id, reason) values ($1, $2, 'asked', ${id}, $3)`,
      [of, fireAt, 'x'.repeat(100_000)],
    )
  for (const far of ['infinity', '-infinity', '0044-03-15 BC', '294000-01-01Z']) await plant(name, far)
  await plant('no such schedule', '2026-01-01Z')
  const twice = `'0199a000-0000-7000-8000-000000000001'`
  await plant(name, '2025-01-01Z', twice)
  await plant(name, '2025-01-02Z', twice)
  const { jobId } = await scene.stint.schedules.runNow(name)
  const worker = await withCode(schedule)
  expect(await made(schedule, 1)).toMatchObject([{ id: jobId }])
  await eventually(
    async () => (await scene.stint.schedules.get(name))?.askedFires === 0,
    'each that cannot be made says so',
  )
  expect(worker.told('trouble')).toEqual([])
  const [row] = await scene.db.query<{ missed: number }>(
    `select count(*)::integer as missed from stint.fire where schedule = $1 and outcome = 'missed'`,
    [name],
  )
  expect(row?.missed).toBe(6)
})
