import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { createLedger } from '../support/ledger.ts'
import { logOf, startWorker } from '../support/worker-process.ts'
import type { LogLine } from '../support/worker-process.ts'
import { eventually, takeLease, workerScene } from '../support/workers.ts'

const scene = workerScene()

const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const

/** The log lines of a job in order: the level, and the beginning of the message. */
function storyOf(lines: readonly LogLine[], id: string): string[] {
  const name = (level: number): string =>
    Object.entries(levels).find(([, number]) => number === level)?.[0] ?? String(level)
  return lines
    .filter((line) => line['id'] === id)
    .map(({ level, msg }) => `${name(level)} ${/^[^:,]+/.exec(msg)?.[0] ?? msg}`)
}

test('every start and every ending of a job is a log line with its id, kind and attempt', async () => {
  const ledger = await createLedger()
  const job = { kind: 'told', queue: 'told', retry: { attempts: 2, backoff: ['10ms'] } }
  const contract = defineJob(job)
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    logLevel: 'debug',
    options: { connection: scene.db.url, queues: { [job.queue]: 20 }, drain: 0 },
  })
  const fail = (failure: string, times?: number): object => ({ act: 'fail', failure, times })
  const { jobs } = await scene.stint.enqueueMany(contract, [
    ...[{}, fail('unknown', 1), fail('permanent'), fail('snooze'), fail('cancel')],
    ...[
      { act: 'hold', word: 'lost' },
      { act: 'hold', listens: true },
    ],
  ])
  const [fine = '', flaky = '', dead = '', snoozed = '', cancelled = '', lost = '', held = ''] = jobs.map(
    ({ id }) => id,
  )
  await ledger.wroteMany({ type: 'start' }, jobs.length + 1)
  for (const [name, id] of Object.entries({ dead, snoozed, cancelled })) await ledger.wrote({ name, job: id })
  for (const id of [fine, flaky]) await ledger.wrote({ name: 'succeeded', job: id })
  await takeLease(scene, lost)
  worker.tell('lost')
  await ledger.wrote({ name: 'leaseLost', job: lost })
  worker.signal('SIGTERM')
  expect(await worker.exited).toEqual({ code: 0, signal: null })

  const lines = logOf(worker)
  const stories: [string, string[]][] = [
    [fine, ['debug started', 'debug succeeded']],
    [flaky, ['debug started', 'warn failed', 'debug started', 'debug succeeded']],
    [dead, ['debug started', 'error dead']],
    [snoozed, ['debug started', 'info snoozed']],
    [cancelled, ['debug started', 'info cancelled']],
    [held, ['debug started', 'info released']],
  ]
  for (const [id, story] of stories) expect(storyOf(lines, id)).toEqual(story)
  // This worker may claim the job again, and give it back when it stops.
  expect(storyOf(lines, lost)).toContain('warn lease lost')
  for (const line of lines.filter(({ id }) => jobs.some((one) => one.id === id)))
    expect(line).toMatchObject({
      kind: job.kind,
      queue: job.queue,
      attempt: expect.any(Number) as number,
      time: expect.any(String) as string,
    })
  const attempts = lines.filter(({ id, msg }) => id === flaky && msg === 'started')
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2])
  expect(lines.find(({ id, msg }) => id === dead && msg === 'dead')).toMatchObject({
    reason: 'permanent',
    class: 'permanent',
    error: 'PermanentError: no such customer',
  })
})

test('a worker that is declared lost logs that, and logs each job that it aborts', async () => {
  const ledger = await createLedger()
  const job = { kind: 'lost', queue: 'lost' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    // No worker sweeps, so the job is not taken before it is given back.
    options: { connection: scene.db.url, queues: { [job.queue]: 1 }, lease: '1s', sweepEvery: '1h' },
  })
  const { id } = await scene.stint.enqueue(defineJob(job), { act: 'hold', listens: true })
  const { workerId = '' } = await ledger.wrote({ type: 'start', job: id })
  await scene.db.query('update stint.worker set lost_at = stint.now() where id = $1', [workerId])
  const said = (start: string) => Promise.resolve(logOf(worker).some(({ msg }) => msg.startsWith(start)))
  await eventually(() => said('worker ready again'), 'that it is ready again')
  await eventually(() => said('released'), 'that the job is given back')
  const lines = logOf(worker)
  const line = (level: number, start: string): LogLine | undefined =>
    lines.find((one) => one.level === level && one.msg.startsWith(start))
  expect(line(levels.error, 'worker lost')).toMatchObject({ workerId })
  const about = { id, kind: job.kind, attempt: 1, epoch: 1 }
  expect(line(levels.warn, 'aborted: its lease')).toMatchObject(about)
  expect(line(levels.info, 'released')).toMatchObject({ ...about, reason: 'its lease was lost' })
})

test('a worker that cannot renew its lease logs that it is at risk, which jobs it aborts, and when it is safe again', async () => {
  const ledger = await createLedger()
  const job = { kind: 'risk', queue: 'risk' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: { connection: scene.db.url, queues: { [job.queue]: 1 }, lease: '2s', sweepEvery: '1h' },
  })
  const { id } = await scene.stint.enqueue(defineJob(job), { act: 'hold', listens: true })
  await ledger.wrote({ type: 'start', job: id })
  // Another transaction locks the row of the worker, so that no heartbeat succeeds.
  const said = (start: string): LogLine | undefined =>
    logOf(worker).find(({ msg, ...line }) => msg.startsWith(start) && line['id'] === undefined)
  const holder = await connectTo(scene.db.url)
  await holder.query('begin')
  await holder.query('select from stint.worker for update')
  // Both come while the row is locked; on a busy machine either may come first.
  for (const start of ['heartbeat failed', 'lease at risk'])
    await eventually(() => Promise.resolve(said(start) !== undefined), start)
  await holder.query('rollback')
  await eventually(() => Promise.resolve(said('lease renewed') !== undefined), 'that it is renewed')
  expect(said('lease at risk')).toMatchObject({ level: levels.error, workerId: expect.any(String) as string })
  expect(said('heartbeat failed')).toMatchObject({ level: levels.warn })
  expect(said('lease renewed')).toMatchObject({ level: levels.info })
  const aborted = logOf(worker).find(({ msg }) => msg.startsWith('aborted: its lease'))
  expect(aborted).toMatchObject({ level: levels.warn, id, kind: job.kind, attempt: 1 })
})
