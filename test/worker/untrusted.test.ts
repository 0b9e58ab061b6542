import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JobContract } from '../../src/index.ts'
import { isOutOf } from '../support/lane.ts'
import { dropChecks } from '../support/planted-rows.ts'
import { eventually, newJob, startFor, startWorker, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

// Others write what a worker reads: any login can send hints, and producers and operators write rows.
// So these tests drop the check constraints: a row may be older than they are.
const scene = workerScene()
beforeAll(() => dropChecks(scene.db))

/** Sends payloads, as any login of the database can. */
async function notify(payloads: readonly string[]): Promise<void> {
  await scene.db.query(`select pg_notify('stint_ready', payload) from unnest($1::text[]) as payload`, [
    payloads,
  ])
}

/** A worker of one queue that receives what is sent on the channel. */
async function startListening(job: JobContract): Promise<TestWorker> {
  const listening = async (): Promise<number[]> => {
    const rows = await scene.db.query<{ pid: number }>(`select pid from pg_stat_activity
      where datname = current_database() and application_name = 'stint listen' and state = 'idle' and query like 'listen%'`)
    return rows.map(({ pid }) => pid)
  }
  // Sessions of earlier workers may still be there and end meanwhile, so a count would not tell.
  const before = new Set(await listening())
  const worker = await startFor(scene, job, () => 'done')
  await eventually(async () => (await listening()).some((pid) => !before.has(pid)), 'a session that listens')
  return worker
}

/** Inserts a row as a login with the right to insert can, without a notification, and returns its id. */
async function insert(job: JobContract, columns: Readonly<Record<string, unknown>>): Promise<string> {
  const row: Record<string, unknown> = {
    id: randomUUID(),
    queue: job.queue,
    kind: job.kind,
    version: 1,
    input: 'null',
    ...columns,
  }
  const names = Object.keys(row)
  await scene.db.query(
    `insert into stint.job (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(row),
  )
  return String(row['id'])
}

test('a queue whose claims keep failing is named by readiness, doctor and overview until a claim succeeds', async () => {
  const [job, other] = [newJob('refused'), newJob('fine')]
  const name = `refuse_${randomUUID().slice(0, 8)}`
  await scene.db.query(`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
  await scene.db.query(`create trigger ${name} before update on stint.job for each row
    when (old.queue = '${job.queue}') execute function ${name}()`)
  const { id } = await scene.stint.enqueue(job, null)
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: 2, [other.queue]: 2 }, health: { port: 0 } },
    (one) => one.handle(job, () => 'done').handle(other, () => 'done'),
  )
  const ready = async (): Promise<{ ok: boolean; problems: string[] }> => {
    const answer = await fetch(`http://127.0.0.1:${worker.worker.healthPort}/readyz`)
    return (await answer.json()) as { ok: boolean; problems: string[] }
  }
  const finding = async (): Promise<{ level: string; title: string } | undefined> => {
    const { findings } = await scene.stint.doctor({ only: ['claims'] })
    return findings[0]
  }
  await worker.tells('trouble', ({ what }) => what === `claim of '${job.queue}'`)
  // The other queue still works.
  const fine = await scene.stint.enqueue(other, null)
  await worker.hears('succeeded', fine.id)
  await eventually(async () => !(await ready()).ok, 'readiness to turn red')
  expect((await ready()).problems.join()).toContain(job.queue)
  await eventually(async () => (await finding())?.level === 'fail', 'the doctor to be told')
  expect(await finding()).toMatchObject({ title: `Claims from ${job.queue} fail` })
  const { claims } = await scene.stint.view.trouble()
  expect(claims).toMatchObject([
    { queue: job.queue, error: expect.stringContaining('not this one') as string },
  ])

  await scene.db.query(`drop function ${name} cascade`)
  await worker.hears('succeeded', id)
  expect(await ready()).toMatchObject({ ok: true })
  await eventually(async () => (await finding())?.level === 'ok', 'the doctor to be told')
})

const isWithoutHints = isOutOf('no-notify', 'these tests need hints')
describe.skipIf(isWithoutHints)('hints that no producer sends', () => {
  test('a hint with an impossible priority stops no queue', async () => {
    const job = newJob()
    const worker = await startListening(job)
    await notify([
      `[["${job.queue}",1e300,0,0]]`,
      `[["${job.queue}",0.5,0,0]]`,
      `[["${job.queue}",0,0,1e300]]`,
    ])
    const { id } = await scene.stint.enqueue(job, null)
    await worker.hears('succeeded', id)
    expect(worker.told('trouble')).toEqual([])
  })

  test('hints of 60,000 priorities do not keep a job waiting', async () => {
    const job = newJob()
    const worker = await startListening(job)
    const payload = (n: number): string =>
      JSON.stringify(Array.from({ length: 250 }, (_, at) => [job.queue, n * 250 + at - 30_000, 0, 0]))
    await notify(Array.from({ length: 240 }, (_, n) => payload(n)))
    const id = await insert(job, { priority: -100 })
    const sentAt = performance.now()
    await worker.hears('succeeded', id)
    // A worker that first asks for 60,000 priorities takes half a minute.
    expect(performance.now() - sentAt).toBeLessThan(20_000)
  })
})

describe('rows that enqueue would not write', () => {
  test.each([
    ['options.timeoutMs', { options: '{"timeoutMs":"abc"}' }],
    ['options.timeoutMs', { options: '{"timeoutMs":-5}' }],
    ['options.timeoutMs', { options: '{"timeoutMs":1e400}' }],
    ['options.timeoutMs', { options: '{"timeoutMs":{}}' }],
    ['options.crashLimit', { options: '{"crashLimit":"x"}' }],
    ['options.crashLimit', { options: '{"crashLimit":0.5}' }],
    ['failures', { failures: '{"unknown":"x"}' }],
    ['failures', { failures: '[1]' }],
    ['failures', { failures: '{"unknown":2147483647}' }],
    ['progress', { progress: '"half"' }],
    ['progress', { progress: '{"percent":"x"}' }],
    ['crashes', { crashes: 32_767 }],
    ['attempt', { attempt: -5 }],
    ['attempt', { attempt: 2_147_483_647 }],
    ['epoch', { epoch: 2_147_483_647 }],
    ['attempt', { attempt: 2_147_483_647, key: 'a' }],
  ])(
    'a job with an impossible %s becomes a dead letter, and no other job is affected: %j',
    async (column, columns) => {
      const job = newJob()
      const ids = [await insert(job, {}), await insert(job, { key: 'a' }), await insert(job, { key: 'b' })]
      const bad = await insert(job, columns)
      const worker = await startFor(scene, job, () => {
        throw new Error('to be tried again')
      })
      const dead = await worker.hears('dead', bad)
      expect(dead.reason).toBe('invalid-row')
      expect(dead.error).toMatchObject({
        code: 'invalid-row',
        message: expect.stringContaining(`\`${column}\``) as string,
      })
      expect(await scene.stint.dead.get(bad)).toMatchObject({ reason: 'invalid-row' })
      for (const id of ids) await worker.hears('failed', id)
      const later = await scene.stint.enqueue(job, null)
      await worker.hears('failed', later.id)
      expect(worker.told('started').some(({ id }) => id === bad)).toBe(false)
    },
  )

  test.each([
    'infinity',
    '-infinity',
    '294276-12-31 23:59:59+00',
    '10000-01-01 00:00:00+00',
    '4713-01-01 00:00:00+00 BC',
  ])('a ready job with run_at %s runs, and so do the jobs after it', async (runAt) => {
    const job = newJob()
    const due: Date[] = []
    const worker = await startFor(scene, job, (_, ctx) => {
      due.push(ctx.runAt)
    })
    const early = await insert(job, {})
    const odd = await insert(job, { run_at: runAt })
    for (const id of [early, odd]) await worker.hears('succeeded', id)
    for (let n = 0; n < 3; n++) {
      const { id } = await scene.stint.enqueue(job, null)
      await worker.hears('succeeded', id)
    }
    const later = await insert(job, { state: 'scheduled', run_at: new Date() })
    await worker.hears('succeeded', later)
    expect(due.every((one) => Number.isFinite(one.getTime()))).toBe(true)
    expect(worker.told('trouble')).toEqual([])
  })

  test('a scheduled job that is never due does not keep due jobs from becoming ready', async () => {
    const job = newJob()
    await insert(job, { state: 'scheduled', run_at: 'infinity' })
    const worker = await startFor(scene, job, () => 'done')
    const { id } = await scene.stint.enqueue(job, null, { delay: '50ms' })
    await worker.hears('succeeded', id)
    expect(worker.told('trouble')).toEqual([])
  })

  test('jobs of 60,000 priorities without a handler do not hide a job with one', async () => {
    const job = newJob()
    await scene.db.query(
      `insert into stint.job (id, queue, kind, priority)
       select gen_random_uuid(), $1, 'unheard-of', priority from generate_series(-30000, 29999) as priority`,
      [job.queue],
    )
    const worker = await startFor(scene, job, () => 'done')
    const id = await insert(job, {})
    await worker.hears('succeeded', id)
    await scene.db.query('delete from stint.job where queue = $1', [job.queue])
  })
})

describe('rows whose ending cannot be stored as it is', () => {
  const long = (): string => Array.from({ length: 120 }, () => randomUUID()).join('')

  test('jobs with a correlation id too long for its index are settled with a cut one, and delay no other job', async () => {
    const job = newJob()
    const ids: string[] = []
    for (let n = 0; n < 12; n++) ids.push(await insert(job, { correlation_id: long() }))
    const worker = await startFor(scene, job, () => 'done', {
      queues: { [job.queue]: { concurrency: 4, prefetch: 0 } },
    })
    for (const id of ids) await worker.hears('succeeded', id)
    const { id: plain } = await scene.stint.enqueue(job, null)
    await worker.hears('succeeded', plain)
    const { correlationId, result } = await stored(scene, ids[0] ?? '')
    expect(correlationId).toMatch(/^[0-9a-f-]{63}…$/)
    expect(result).toBe('done')
    const lines = await scene.stint.logs(ids[0] ?? '')
    expect(lines.map(({ message }) => message)).toEqual(['Too long to be stored, and cut: correlation_id.'])
    expect((await stored(scene, plain)).correlationId).toBe(plain)
  })

  test('a job with search words too long for their index becomes a dead letter with cut ones', async () => {
    const job = newJob()
    const bad = await insert(job, { search: [`a:${long()}`, null, 'b:1'], max_attempts: 1 })
    const worker = await startFor(scene, job, () => {
      throw new Error('no')
    })
    await worker.hears('dead', bad)
    const [row] = await scene.db.query<{ search: string[] }>('select search from stint.dead where id = $1', [
      bad,
    ])
    expect(row?.search).toHaveLength(2)
    expect(worker.told('trouble')).toEqual([])
  })
})
