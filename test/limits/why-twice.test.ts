import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Snooze } from '../../src/worker.ts'
import { call, openConsole, tokens } from '../console/scene.ts'
import { runStint } from '../support/cli.ts'
import { newName, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('each attempt of a job has its cause, and says whether it burned one', async () => {
  const job = defineJob({
    kind: newName('work'),
    queue: newName(),
    timeout: '100ms',
    retry: { attempts: 2, backoff: () => 1 },
  })
  let call = 0
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handle(job, async (_, ctx) => {
      call++
      if (call === 1) throw new Snooze('1ms', 'not yet')
      if (call === 2) throw new Error('do not honor')
      if (call === 3)
        await new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            reject(ctx.signal.reason as Error)
          })
        })
    }),
  )
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('dead', id)
  await scene.stint.dead.replay(id)
  await worker.hears('succeeded', id)
  const { attempts } = await scene.stint.whyTwice(id)
  expect(attempts.map(({ epoch, attempt, cause, burned }) => ({ epoch, attempt, cause, burned }))).toEqual([
    { epoch: 1, attempt: 1, cause: 'snoozed', burned: false },
    { epoch: 2, attempt: 1, cause: 'error', burned: true },
    { epoch: 3, attempt: 2, cause: 'replayed', burned: true },
    { epoch: 4, attempt: 3, cause: 'succeeded', burned: true },
  ])
  expect(attempts.map(({ says }) => says)).toEqual([
    'snoozed: not yet; no attempt burned',
    'failed: Error: do not honor; burned an attempt',
    expect.stringMatching(
      /^timed out: .*; the job was dead, and a replay started it again; burned an attempt$/,
    ),
    'succeeded',
  ])
  expect(attempts.every((one) => one.worker !== null && one.at instanceof Date)).toBe(true)
  await agree(id)
})

test('lost leases, crashes, late results, breakers and the retry budget are told apart', async () => {
  const job = defineJob({ kind: newName('work'), queue: newName() })
  const { id } = await scene.stint.enqueue(job, {})
  const note = (epoch: number, attempt: number, outcome: string, reason: string): Promise<unknown> =>
    scene.db.query(
      `insert into stint.attempt (job_id, epoch, attempt, outcome, reason, ended_at)
       values ($1, $2::integer, $3, $4, $5, now() + make_interval(secs => $2::integer))`,
      [id, epoch, attempt, outcome, reason],
    )
  await note(1, 1, 'lease-lost', 'its worker ended while it ran: killed')
  await note(1, 1, 'refused', 'late settle refused: succeeded')
  await note(2, 1, 'crashed', 'out of memory')
  await note(3, 1, 'released', 'the worker stops')
  await note(4, 1, 'failed', 'the breaker smtp is open')
  await note(5, 1, 'timed-out', 'moved 42s by the retry budget')
  await scene.db.query(`update stint.job set epoch = 5, attempt = 1 where id = $1`, [id])
  const { attempts } = await scene.stint.whyTwice(id)
  expect(attempts.map(({ cause, burned, says }) => [cause, burned, says])).toEqual([
    [
      'lease-lost',
      false,
      'lease lost: its worker ended while it ran: killed; late settle refused: succeeded; no attempt burned',
    ],
    ['crash', false, 'crashed: out of memory; no attempt burned'],
    ['released', false, 'released: the worker stops; no attempt burned'],
    ['breaker', false, 'failed: the breaker smtp is open; no attempt burned'],
    ['budget', true, 'timed out: moved 42s by the retry budget; burned an attempt'],
  ])
  await agree(id)
})

test('a job that never ran has no attempts, and its page says so', async () => {
  const job = defineJob({ kind: newName('work'), queue: newName() })
  const { id } = await scene.stint.enqueue(job, {})
  expect(await scene.stint.whyTwice(id)).toEqual({ attempts: [] })
  expect((await runStint(['job', 'why-twice', id], scene.db.url)).stdout).toContain('it has not run yet')
})

/** CLI and HTTP say what the library says. */
async function agree(id: string): Promise<void> {
  const library = JSON.parse(JSON.stringify(await scene.stint.whyTwice(id))) as Record<string, unknown>
  const cli = await runStint(['job', 'why-twice', id, '-o', 'json'], scene.db.url)
  expect(JSON.parse(cli.stdout)).toEqual(library)
  const page = await runStint(['job', 'why-twice', id], scene.db.url)
  expect(page.stdout).toMatch(/^EPOCH +ATTEMPT +CAUSE +BURNED +WHEN/)
  const served = openConsole(scene.db.url)
  const http = await call(served, `GET /v1/jobs/${id}/why-twice`, { token: tokens.viewer.token })
  expect(http.body['attempts']).toEqual(library['attempts'])
}
