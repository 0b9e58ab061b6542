import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { PermanentError } from '../../src/worker.ts'
import { Database } from '../../src/db/database.ts'
import { HeldJobs } from '../../src/worker/attempt/held-job.ts'
import type { HeldJob } from '../../src/worker/attempt/held-job.ts'
import { Notes } from '../../src/worker/attempt/notes.ts'
import { claimOne } from '../support/claimed.ts'
import {
  eventually,
  gate,
  newJob,
  startFor,
  startWorker,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
beforeAll(async () => {
  await scene.db.query('create table public.progress_written (job uuid not null, percent float8 not null)')
  await scene.db.query(`create function public.see_progress() returns trigger language plpgsql as $$
    begin
      insert into public.progress_written values (new.id, (new.progress ->> 'percent')::float8);
      return null;
    end $$`)
  await scene.db.query(`create trigger see_progress after update of progress on stint.job
    for each row execute function public.see_progress()`)
})

async function written(id: string): Promise<number[]> {
  const rows = await scene.db.query<{ percent: number }>(
    'select percent from public.progress_written where job = $1',
    [id],
  )
  return rows.map(({ percent }) => percent)
}

describe('ctx.progress', () => {
  test('ctx.progress is cheap: of thousands of calls only a few are written, including the newest', async () => {
    const job = newJob()
    const goOn = gate()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      for (let n = 0; n <= 5_000; n++) await ctx.progress(n / 100, `${n} of 10,000`)
      await goOn.opened
    })
    const { id } = await scene.stint.enqueue(job)
    await eventually(async () => (await stored(scene, id)).progress?.percent === 50, 'the newest is written')
    expect((await stored(scene, id)).progress).toMatchObject({
      note: '5000 of 10,000',
      at: expect.stringMatching(/^\d{4}-/) as string,
    })
    expect((await written(id)).length).toBeLessThanOrEqual(5)
    goOn.open(undefined)
    await worker.hears('succeeded', id)
  })

  test('progress is kept over a failure, a snooze and a release, so that the next attempt can go on from it', async () => {
    const job = newJob()
    const isRunning = gate()
    const seen: unknown[] = []
    const handler: Parameters<typeof startFor>[2] = async (_input, ctx) => {
      seen.push(ctx.lastProgress?.percent ?? null)
      const { epoch } = ctx.fence
      await ctx.progress(epoch * 10, `epoch ${epoch}`)
      if (epoch === 1) throw new Error('not yet')
      if (epoch === 2) ctx.snooze('1ms')
      if (epoch > 3) return
      isRunning.open(undefined)
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reject(ctx.signal.reason as Error)
        })
      })
    }
    const first = await startFor(scene, job, handler)
    const { id } = await scene.stint.enqueue(job)
    await isRunning.opened
    await first.worker.stop({ drain: 0 })
    await first.hears('released', id)
    expect(await stored(scene, id)).toMatchObject({
      state: 'ready',
      attempt: 1,
      progress: { percent: 30, note: 'epoch 3' },
    })
    const second = await startFor(scene, job, handler)
    await second.hears('succeeded', id)
    expect(seen).toEqual([null, 10, 20, 30])
  })

  test('a dead letter keeps its progress', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.progress(66)
      throw new PermanentError('no use')
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('dead', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'dead', progress: { percent: 66, note: null } })
  })

  test('ctx.progress rejects a value that is not a number from 0 to 100, and the handler may go on', async () => {
    const job = newJob()
    const bad = [-1, 100.5, Number.NaN, Number.POSITIVE_INFINITY, '50', null, undefined]
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const codes = bad.map((percent) =>
        ctx.progress(percent as number).then(
          () => 'taken',
          (error: unknown) => (error as { code: string }).code,
        ),
      )
      return Promise.all(codes)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect((await stored(scene, id)).result).toEqual(bad.map(() => 'invalid-option'))
  })

  test('ctx.progress takes any note', async () => {
    const job = newJob()
    const notes = ['a\0b', '\ud800', 'x'.repeat(100_000), '"quoted" \\ and $1', 7, { not: 'text' }, null]
    const worker = await startFor(scene, job, async (input, ctx) => {
      await ctx.progress(1, notes[input as number] as string)
      throw new PermanentError('so that it stays')
    })
    const { jobs } = await scene.stint.enqueueMany(job, notes.keys())
    const kept: unknown[] = []
    for (const { id } of jobs) {
      await worker.hears('dead', id)
      kept.push((await stored(scene, id)).progress?.note)
    }
    expect(kept).toEqual([
      ...['a\ufffdb', '\ufffd', `${'x'.repeat(1021)}…`, '"quoted" \\ and $1', '7', '{"not":"text"}', null],
    ])
  })

  test('progress of an older lease is never stored under the newer one', async () => {
    const job = newJob()
    const db = new Database({
      url: scene.db.url,
      schema: 'stint',
      poolSize: 1,
      deadlineMs: 10_000,
      applicationName: 'test',
    })
    const held = new HeldJobs()
    const lost: HeldJob[] = []
    const fail = (_part: string, error: unknown): never => {
      throw error
    }
    const report = { abortedForLease: (one: HeldJob) => void lost.push(one) }
    const notes = new Notes({ db, held, report, troubles: { beside: fail } })
    const { id } = await scene.stint.enqueue(job)
    const stale = await claimOne(db, job, randomUUID())
    held.add(stale)
    stale.begin(undefined, 60_000)
    await takeLease(scene, id)
    const current = await claimOne(db, job, randomUUID())
    held.add(current)
    notes.progress(current, 10, 'current')
    notes.progress(stale, 90, 'stale')
    await notes.flush()
    expect((await stored(scene, id)).progress).toMatchObject({ percent: 10, note: 'current' })
    expect(lost).toEqual([stale])
    await db.close()
  })
})

interface LogRow {
  epoch: number
  line: number
  level: string
  message: string
  data: unknown
}

function linesOf(id: string): Promise<LogRow[]> {
  return scene.db.query<LogRow & Record<string, unknown>>(
    'select epoch, line, level, message, data from stint.log where job_id = $1 order by epoch, line',
    [id],
  )
}

describe('ctx.log', () => {
  test('ctx.log keeps the lines of each attempt in order, with level and data', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) => {
      ctx.log.info('begins', { attempt: ctx.attempt })
      ctx.log.debug('no data')
      ctx.log.warn('careful', [1, null])
      ctx.log.error('broken', 'text')
      if (ctx.attempt === 1) throw new Error('again')
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const lines = (epoch: number): LogRow[] => [
      { epoch, line: 1, level: 'info', message: 'begins', data: { attempt: epoch } },
      { epoch, line: 2, level: 'debug', message: 'no data', data: null },
      { epoch, line: 3, level: 'warn', message: 'careful', data: [1, null] },
      { epoch, line: 4, level: 'error', message: 'broken', data: 'text' },
    ]
    expect(await linesOf(id)).toEqual([...lines(1), ...lines(2)])
  })

  test('ctx.log keeps a thousand lines of an attempt, and one more line that says that others were dropped', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) => {
      for (let n = 1; n <= 5_000; n++) ctx.log.info(`line ${n}`)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const lines = await linesOf(id)
    expect(lines).toHaveLength(1_001)
    expect(lines.at(-2)).toMatchObject({ line: 1_000, message: 'line 1000' })
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('the rest is dropped') as string,
    })
  })

  test('ctx.log keeps at most a quarter of a megabyte of an attempt', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) => {
      for (let n = 1; n <= 200; n++) ctx.log.info('x'.repeat(100_000), 'y'.repeat(100_000))
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const lines = await linesOf(id)
    const bytes = lines.reduce((sum, { message, data }) => sum + message.length + String(data).length, 0)
    expect(bytes).toBeLessThanOrEqual(260 * 1024)
    expect(lines.at(-1)?.message).toContain('the rest is dropped')
  })

  test('ctx.log accepts any value, and the job goes on', async () => {
    const job = newJob()
    const cycle: Record<string, unknown> = { name: 'cycle' }
    cycle['self'] = cycle
    const hostile: [message: unknown, data?: unknown][] = [
      ['nul \0 and half \ud800', { 'key\0': '\udfff' }],
      ['a cycle', cycle],
      ['numbers', [1n, Number.NaN, Number.POSITIVE_INFINITY]],
      [
        'unreadable',
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no')
            },
          },
        ),
      ],
      ['a function', () => undefined],
      ['a Map', new Map([['a', 1]])],
      [new Error('an error for a message'), new Error('and for data')],
      [undefined],
      [42],
      [
        {
          toString: () => {
            throw new Error('no')
          },
        },
      ],
    ]
    const worker = await startFor(scene, job, (_input, ctx) => {
      for (const [message, data] of hostile) ctx.log.info(message as string, data)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const all = await linesOf(id)
    // The first changed line is followed by a warning that values were replaced.
    expect(all[1]).toMatchObject({ level: 'warn', message: expect.stringContaining('replaced') as string })
    const lines = all.filter(({ level }) => level === 'info')
    expect(lines).toHaveLength(all.length - 1)
    expect(lines.map(({ message }) => message)).toEqual([
      ...['nul \ufffd and half \ufffd', 'a cycle', 'numbers', 'unreadable', 'a function', 'a Map'],
      ...['an error for a message', 'null', '42', '{}'],
    ])
    expect(lines.map(({ data }) => data)).toEqual([
      { 'key\ufffd': '\ufffd' },
      { name: 'cycle', self: '[circular]' },
      ['1', 'NaN', 'Infinity'],
      '[unreadable]',
      null,
      { a: 1 },
      { name: 'Error', message: 'and for data' },
      ...[null, null, null],
    ])
    expect(worker.told('trouble')).toEqual([])
  })

  test('a log line of an older lease is not stored', async () => {
    const job = newJob()
    const isRunning = gate()
    const goOn = gate()
    const worker = await startWorker(scene, { queues: { [job.queue]: 2 } }, (one) =>
      one.handle(job, async (_input, ctx) => {
        if (ctx.fence.epoch === 1) {
          isRunning.open(undefined)
          await goOn.opened
        }
        ctx.log.info(`epoch ${ctx.fence.epoch}`)
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await isRunning.opened
    await takeLease(scene, id)
    goOn.open(undefined)
    await worker.hears('leaseLost', id)
    await worker.hears('succeeded', id)
    expect(await linesOf(id)).toMatchObject([{ epoch: 2, message: 'epoch 2' }])
  })
})
