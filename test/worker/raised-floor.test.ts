import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { survey } from '../../src/jobs/survey.ts'
import { Claims } from '../../src/worker/claim/claims.ts'
import type { ClaimsConfig } from '../../src/worker/claim/claims.ts'
import { QueuePool } from '../../src/worker/claim/queue-pool.ts'
import { newJob, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** A queue whose only job is running, and becomes ready again with its old run_at when a claim looks for the tail. */
async function lateReturn(tailMs = 0) {
  const { url } = scene.db
  const db = new Database({ url, schema: 'stint', poolSize: 2, deadlineMs: 10_000, applicationName: 'test' })
  onTestFinished(() => db.close())
  const job = newJob()
  const { id } = await scene.stint.enqueue(job)
  await scene.db.query(
    `update stint.job set state = 'running', lease_id = gen_random_uuid(), worker_id = gen_random_uuid(),
                          run_at = stint.now() - interval '1 hour' where id = $1`,
    [id],
  )
  const slow: ClaimsConfig['db'] = {
    transaction: (work) => db.transaction(work),
    schema: 'stint',
    query: async (text, values) => {
      if (text.includes('jobs/tail.sql')) {
        await scene.db.query(
          `update stint.job set state = 'ready', lease_id = null, worker_id = null where id = $1`,
          [id],
        )
        await pause(tailMs)
      } else if (text.includes('jobs/claim.sql')) await pause(20)
      return db.query(text, values)
    },
  }
  const pool = new QueuePool({
    name: job.queue,
    concurrency: 10,
    prefetch: 0,
    weight: 1,
    keyWeight: () => 1,
    agingAfterMs: 600_000,
    pollFloorMs: 1_000,
  })
  const kinds = JSON.stringify({ [job.kind]: 1 })
  const claims = new Claims({ db: slow, workerId: randomUUID(), kinds })
  const claim = async (): Promise<string[]> => {
    pool.floors.hint(0)
    return (await claims.take(pool, 10, performance.now())).jobs.map((one) => one.id)
  }
  const look = (): ReturnType<typeof survey> => survey(db, { queues: [job.queue], kinds: [kinds] })
  return { pool, claim, look, id }
}

test('a floor that was raised past a job during a survey is lowered to the job that the survey found', async () => {
  const { pool, claim, look, id } = await lateReturn()
  pool.floors.hint(0)
  const before = pool.floors.snapshot().get(0)
  expect(await claim()).toEqual([])
  const [finding] = await look()
  expect(finding).toMatchObject({ type: 'ready', head: { id } })
  if (finding?.type !== 'ready') return
  pool.floors.found(0, finding.head, { since: performance.now(), before })
  expect(await claim()).toEqual([id])
})

test('a floor is not raised by a tail that was read long after the claim', async () => {
  const { claim, id } = await lateReturn(1_200)
  expect(await claim()).toEqual([])
  expect(await claim()).toEqual([id])
})
