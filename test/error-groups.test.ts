import { expect, test } from 'vitest'
import { PermanentError } from '../src/worker.ts'
import { defineJob } from '../src/index.ts'
import { newJob, newName, startFor, startWorker, workerScene } from './support/workers.ts'

const scene = workerScene()

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
  expect(await scene.stint.errors.ignore(fingerprint, { until: new Date(Date.now() - 1_000) })).toMatchObject(
    {
      status: 'open',
    },
  )
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
