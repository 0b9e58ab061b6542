import { expect, test } from 'vitest'
import type { WorkerOptions } from '../../src/worker.ts'
import { newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Simulates the error of a server that cannot extend a file. A really full disk would stop the other tests too. */
async function fillDisk(): Promise<() => Promise<void>> {
  await scene.db.query('create sequence tries')
  await scene.db.query(`create function disk_full() returns trigger language plpgsql as $$
    begin
      perform nextval('tries');
      raise exception 'could not extend file: No space left on device' using errcode = '53100';
    end $$`)
  for (const table of ['job', 'finished', 'attempt', 'dead'])
    await scene.db.query(`create trigger disk_full before insert or update or delete on stint.${table}
                          for each statement execute function disk_full()`)
  return async () => {
    await scene.db.query('drop function disk_full cascade')
  }
}

test('a worker waits while the disk is full, logs that, does not spin, and works again when there is room', async () => {
  const job = newJob('disk')
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push({ level, message, fields: { ...fields } })
  const log: WorkerOptions['log'] = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
  const worker = await startFor(scene, job, () => 'done', { log, pollFloor: '50ms' })
  const first = await scene.stint.enqueue(job)
  await worker.hears('succeeded', first.id)
  const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 50 }).keys(), { delay: '300ms' })
  const makeRoom = await fillDisk()
  await worker.tells('trouble', ({ error }) => (error as { code?: string }).code === '53100', 6)
  const [row] = await scene.db.query<{ tries: number }>('select last_value::integer as tries from tries')
  // The wait is random, below 0.2 s at first and longer each time: few tries for six failures, not hundreds.
  expect(row?.tries).toBeLessThan(30)

  const about = lines.filter(({ message }) => message.startsWith('database trouble'))
  expect(about[0]).toMatchObject({ level: 'error', fields: { trouble: 'wait' } })
  expect(String(about[0]?.fields['error'])).toContain('No space left on device')
  expect(about.filter(({ level }) => level === 'error')).toHaveLength(1)
  expect(about.length).toBeLessThanOrEqual(3)

  await makeRoom()
  for (const { id } of jobs) await worker.hears('succeeded', id)
  for (const { id } of jobs.slice(0, 5))
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1, crashes: 0 })
  expect(worker.told('workerLost')).toEqual([])
})

test('an enqueue on a full disk fails with database-unavailable after its timeout, and stores nothing', async () => {
  const { Stint } = await import('../../src/index.ts')
  // A statement may use a third of the timeout; an error that comes later would be less specific.
  const stint = new Stint({ connection: scene.db.url, timeout: '6s' })
  await scene.db.query('drop sequence tries')
  const makeRoom = await fillDisk()
  await expect(stint.enqueue(newJob('nowhere'))).rejects.toMatchObject({ code: 'database-unavailable' })
  await makeRoom()
  await stint.close()
})
