import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { connectTo, waitingForLocks } from '../support/database.ts'
import { notedBegun } from '../support/worker-process.ts'
import { eventually, gate, newJob, startFor, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Makes every change of one job fail, as a damaged page or a user's trigger would; returns the function that mends it. */
async function spoil(id: string, code: string, when = 'true'): Promise<() => Promise<void>> {
  const name = `spoil_${randomUUID().slice(0, 8)}`
  await scene.db.query(`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'this row is bad' using errcode = '${code}'; end $$`)
  await scene.db.query(`create trigger ${name} before update or delete on stint.job for each row
    when (old.id = '${id}' and ${when}) execute function ${name}()`)
  return async () => {
    await scene.db.query(`drop function ${name} cascade`)
  }
}

/** Stores a lost worker, and lets these jobs run under it. */
async function orphan(ids: readonly string[]): Promise<void> {
  const worker = randomUUID()
  await scene.db.query(
    `insert into stint.worker (id, lease_until, about, lost_at) values ($1, now() - interval '1 hour', '{}', now())`,
    [worker],
  )
  await scene.db.query(
    `update stint.job set state = 'running', worker_id = $1, lease_id = gen_random_uuid(), attempt = 1, epoch = 1,
                          started_at = now() where id = any($2)`,
    [worker, ids],
  )
}

/** A parked job comes back after seconds, so one code is enough to test that. */
const isMendedToo = (code: string): boolean => code === 'P0001'

// An error of a user's trigger, a damaged page, and a value that a type refuses.
describe.each(['P0001', 'XX000', '22P02'])('one job that cannot be changed (%s)', (code) => {
  test('a job that cannot be changed does not keep others from being settled, is named, and is settled when it is mended', async () => {
    const job = newJob('settle')
    const all = gate()
    const worker = await startFor(
      scene,
      job,
      async (input) => {
        await all.opened
        return { n: input }
      },
      { queues: { [job.queue]: 20 } },
    )
    const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 20 }).keys())
    await worker.tells('started', () => true, 20)
    const ids = jobs.map(({ id }) => id)
    const [bad, ...good] = ids
    // Before the row is bad, because the note that a handler has begun changes it too.
    await notedBegun(scene.db, ids)
    const mend = await spoil(bad ?? '', code)
    all.open(undefined)
    for (const id of good) await worker.hears('succeeded', id)
    const [trouble] = await worker.tells('trouble', ({ jobIds }) => jobIds !== undefined)
    expect(trouble).toMatchObject({ what: 'settle', jobIds: [bad] })

    // Later jobs do not wait for it either.
    const later = await scene.stint.enqueue(job, 20)
    await worker.hears('succeeded', later.id)
    expect(worker.told('trouble').flatMap(({ jobIds }) => jobIds ?? ['no names'])).toEqual(
      worker.told('trouble').map(() => bad),
    )
    await mend()
    await worker.hears('succeeded', bad ?? '')
    expect(await stored(scene, bad ?? '')).toMatchObject({ state: 'succeeded', attempt: 1, result: { n: 0 } })
  })

  test('a job that cannot be changed does not keep others from being swept, is named, and is parked', async () => {
    const job = newJob('sweep')
    const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 30 }).keys())
    const ids = jobs.map(({ id }) => id)
    const [bad = '', ...good] = ids
    await orphan(ids)
    const mend = await spoil(bad, code)
    const worker = await startFor(scene, job, () => 'done', { sweepEvery: '50ms' })
    for (const id of good) await worker.hears('succeeded', id)
    await worker.tells('trouble', ({ what, jobIds }) => what === 'sweep' && jobIds?.[0] === bad)
    // It is parked for seconds, longer each time, and not tried at every pass.
    await worker.until(() => worker.told('succeeded').length === good.length, 'all good ones')
    const passes = worker.told('trouble').length
    expect(passes).toBeLessThanOrEqual(2)
    await mend()
    if (isMendedToo(code)) await worker.hears('succeeded', bad)
  })

  test('a job that cannot be changed does not keep others from becoming ready, is named, and is parked', async () => {
    const job = newJob('promote')
    const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 30 }).keys(), { delay: '100ms' })
    const [bad = '', ...good] = jobs.map(({ id }) => id)
    const mend = await spoil(bad, code)
    const worker = await startFor(scene, job, () => 'done', { pollFloor: '50ms' })
    for (const id of good) await worker.hears('succeeded', id)
    const later = await scene.stint.enqueue(job, 31, { delay: '300ms' })
    await worker.hears('succeeded', later.id)
    const troubles = worker.told('trouble')
    expect(troubles).toMatchObject(troubles.map(() => ({ what: 'promote', jobIds: [bad] })))
    expect(troubles.length).toBeLessThanOrEqual(2)
    await mend()
    if (isMendedToo(code)) await worker.hears('succeeded', bad)
  })

  test('a job that cannot be changed does not keep others from being given back after a lost claim', async () => {
    const job = newJob('reconcile')
    const quiet = newJob('nothing')
    const worker = await startWorker(scene, { queues: { [quiet.queue]: 1 }, sweepEvery: '50ms' }, (one) =>
      one.handle(quiet, () => undefined),
    )
    const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 10 }).keys())
    const ids = jobs.map(({ id }) => id)
    const [bad = '', ...good] = ids
    // Only while it runs, because it has to be claimed first.
    const mend = await spoil(bad, code, `old.state = 'running'`)
    await scene.db.query(
      `update stint.job set state = 'running', worker_id = $1, lease_id = gen_random_uuid(), attempt = 1, epoch = 1,
                            started_at = now() where id = any($2)`,
      [worker.worker.id, ids],
    )
    await eventually(async () => {
      const rows = await scene.db.query(`select id from stint.job where id = any($1) and state = 'ready'`, [
        good,
      ])
      return rows.length === good.length
    }, 'the others are ready')
    await worker.tells('trouble', ({ what, jobIds }) => what === 'reconcile' && jobIds?.[0] === bad)
    await mend()
    if (!isMendedToo(code)) return
    await eventually(async () => {
      const rows = await scene.db.query(`select id from stint.job where id = $1 and state = 'ready'`, [bad])
      return rows.length === 1
    }, 'and so is the bad one')
  })
})

test.each([
  ['first', 0],
  ['in between', 5],
  ['last', 9],
])('a job whose row is locked (%s) does not keep others from being settled', async (_, place) => {
  const job = newJob('locked')
  const all = gate()
  const worker = await startFor(scene, job, () => all.opened, { lease: '3s', queues: { [job.queue]: 10 } })
  const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 10 }).keys())
  await worker.tells('started', () => true, 10)
  const ids = jobs.map(({ id }) => id)
  const locked = ids[place] ?? ''
  const others = ids.filter((id) => id !== locked)
  const client = await connectTo(scene.db.url)
  await client.query('begin')
  await client.query('select 1 from stint.job where id = $1 for update', [locked])
  all.open(undefined)
  for (const id of others) await worker.hears('succeeded', id)
  expect(worker.told('leaseLost')).toEqual([])
  // The server ends the statements that were given up: otherwise their sessions would soon use up all connections.
  await eventually(async () => (await waitingForLocks(scene.db)) <= 1, 'the end of what was given up')
  await client.query('rollback')
  await worker.hears('succeeded', locked)
  expect(await stored(scene, locked)).toMatchObject({ state: 'succeeded', attempt: 1 })
})

test.each(['P0001', '23514', 'XX000'])(
  'a job that the database refuses to store (%s) fails only its own caller',
  async (code) => {
    const [good, bad] = [newJob('good'), newJob('bad')]
    const name = `refuse_${randomUUID().slice(0, 8)}`
    await scene.db.query(`create function ${name}() returns trigger language plpgsql as $$
      begin raise exception 'not this one' using errcode = '${code}'; end $$`)
    await scene.db.query(`create trigger ${name} before insert on stint.job for each row
      when (new.queue = '${bad.queue}') execute function ${name}()`)
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => scene.stint.enqueue(n === 7 ? bad : good, { n })),
    )
    await scene.db.query(`drop function ${name} cascade`)
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(19)
    expect(answers[7]).toMatchObject({
      status: 'rejected',
      reason: { code: code === '23514' ? 'invalid-input' : 'database-rejected' },
    })
    expect(await scene.db.query('select 1 from stint.job where queue = $1', [good.queue])).toHaveLength(19)
  },
)
