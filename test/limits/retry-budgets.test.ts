import { expect, test } from 'vitest'
import { defineJob, defineQueue } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { attemptsOf, eventually, newName, startWorker, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

/** Retried at once, unless a budget puts the retry off. */
function newFailing(): JobContract {
  return defineJob({ kind: newName('call'), queue: newName(), retry: { attempts: 3, backoff: () => 1 } })
}

/** The most times within any second. */
function highestSecond(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  let highest = 0
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while ((sorted[last] ?? 0) - (sorted[first] ?? 0) >= 1_000) first++
    highest = Math.max(highest, last - first + 1)
  }
  return highest
}

/** When the retries start that have started, and when the others will. */
async function retryTimes(queue: string): Promise<number[]> {
  const rows = await scene.db.query<{ at: Date }>(
    `select run_at as at from stint.job where queue = $1
     union all
     select started_at from stint.finished where queue = $1`,
    [queue],
  )
  return rows.map(({ at }) => at.getTime())
}

function startFailing(
  job: JobContract,
  options: { flow?: ReturnType<typeof defineQueue>[]; onStart?: (attempt: number) => void } = {},
): Promise<TestWorker> {
  const { flow = [], onStart = () => undefined } = options
  return startWorker(scene, { queues: { [job.queue]: 50 }, flow }, (worker) =>
    worker.handle(job, (_input, ctx) => {
      onStart(ctx.attempt)
      if (ctx.attempt === 1) throw new Error('down')
    }),
  )
}

test('jobs that fail at once are retried at the pace of the budget', async () => {
  const job = newFailing()
  const jobs = form === 'short' ? 2_000 : 10_000
  const retryBudget = { share: 0.2, least: 10, window: '10s' }
  const worker = await startFailing(job, { flow: [defineQueue({ name: job.queue, retryBudget })] })
  await scene.stint.enqueueMany(job, Array.from({ length: jobs }).fill(1))
  await worker.tells('failed', undefined, jobs)
  await worker.worker.stop()
  const times = await retryTimes(job.queue)
  expect(times).toHaveLength(jobs)
  // A busy machine stores endings late and together, which moves some retries closer.
  const slack = form === 'short' ? 3 : 1.2
  expect(highestSecond(times)).toBeLessThanOrEqual((slack * (0.2 * jobs + 10)) / 10)
})

test('without a budget they all come back in one second', async () => {
  const job = newFailing()
  const worker = await startFailing(job)
  await scene.stint.enqueueMany(job, Array.from({ length: 200 }).fill(1))
  await worker.tells('succeeded', undefined, 200)
  expect(worker.told('budget')).toEqual([])
})

test('retries start at the pace of the budget, and none is lost', async () => {
  const job = newFailing()
  const [jobs, least, window] = form === 'short' ? [200, 100, '1s'] : [10_000, 10, '1s']
  const starts: number[] = []
  const worker = await startFailing(job, {
    flow: [defineQueue({ name: job.queue, retryBudget: { share: 0.2, least, window } })],
    onStart: (attempt) => {
      if (attempt === 2) starts.push(performance.now())
    },
  })
  await scene.stint.enqueueMany(job, Array.from({ length: jobs }).fill(1))
  await worker.until(() => worker.told('succeeded').length === jobs, 'all successes')
  if (form !== 'short') expect(highestSecond(starts)).toBeLessThanOrEqual(1.2 * (0.2 * jobs + least))
  const moved = worker.told('budget')
  expect(moved.length).toBeGreaterThan(jobs / 4)
  // The attempt says it, and the numbers count it.
  const [{ id, movedMs, delayMs } = { id: '', movedMs: 0, delayMs: 0 }] = moved.slice(-1)
  expect(movedMs).toBeLessThanOrEqual(delayMs)
  const [first] = await attemptsOf(scene, id)
  expect(first?.outcome).toBe('failed')
  expect(first?.reason).toMatch(/^moved \d\S* by the retry budget$/)
  await worker.worker.stop()
  const [counted] = await scene.db.query<{ moved: string }>(
    'select sum(moved) as moved from stint.stat_minute where queue = $1',
    [job.queue],
  )
  expect(Number(counted?.moved)).toBe(moved.length)
})

test('a few failures in a busy queue are retried at their own times', async () => {
  const job = newFailing()
  const retryBudget = { share: 0.2, least: 4, window: '1m' }
  const flow = [defineQueue({ name: job.queue, retryBudget })]
  const worker = await startWorker(scene, { queues: { [job.queue]: 10 }, flow }, (one) =>
    one.handle(job, (input, ctx) => {
      if ((input as number) >= 298 && ctx.attempt === 1) throw new Error('once')
    }),
  )
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 300 }, (_, n) => n),
  )
  await worker.tells('succeeded', undefined, 300)
  expect(worker.told('failed')).toHaveLength(2)
  expect(worker.told('budget')).toEqual([])
})

test('a worker without the rule in its code keeps to the stored one', async () => {
  const job = newFailing()
  const stored = defineQueue({ name: job.queue, retryBudget: { share: 0, least: 2, window: '1h' } })
  const first = await startFailing(job, { flow: [stored] })
  await first.worker.stop()
  const second = await startFailing(job)
  // From its first survey on: a hint may start jobs before it.
  await eventually(async () => {
    await scene.stint.enqueue(job)
    return second.told('budget').length > 0
  }, 'a retry that was put off')
  expect(second.told('budget')[0]?.movedMs).toBeGreaterThan(60_000)
})

test.each(['{"share":"NaN","least":1e300,"windowMs":-1}', '[]', '"x"', '{"share":0.2}', '{"share":-1e308}'])(
  'a stored budget of %s is ignored',
  async (hostile) => {
    const job = newFailing()
    await scene.db.query('insert into stint.queue (name, retry_budget) values ($1, $2)', [job.queue, hostile])
    const worker = await startFailing(job)
    await scene.stint.enqueueMany(job, Array.from({ length: 20 }).fill(1))
    await worker.tells('succeeded', undefined, 20)
    expect(worker.told('budget')).toEqual([])
  },
)
