import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { JobContract } from '../../src/index.ts'
import { Database } from '../../src/db/database.ts'
import { Claims } from '../../src/worker/claim/claims.ts'
import type { ClaimsConfig } from '../../src/worker/claim/claims.ts'
import { noRules } from '../../src/jobs/queue-rules.ts'
import { QueuePool } from '../../src/worker/claim/queue-pool.ts'
import { HeldJob } from '../../src/worker/attempt/held-job.ts'
import { claimOne } from '../support/claimed.ts'
import { gate, newJob, startFor, workerScene } from '../support/workers.ts'

type Send = (
  this: pg.Client,
  query: { text?: string; values?: unknown[] },
  ...rest: unknown[]
) => Promise<{ rows: unknown[] }>

const scene = workerScene()
let db: Database
beforeAll(() => {
  const { url } = scene.db
  db = new Database({ url, schema: 'stint', poolSize: 1, deadlineMs: 10_000, applicationName: 'test' })
})
afterAll(() => db.close())

test('an aged job starts before prefetched jobs of higher priority', async () => {
  const job = newJob()
  const { pool } = claimer(job)
  await scene.stint.enqueueMany(job, ['high', 'high', 'low'])
  const start = { heldSince: 0, workerId: randomUUID() }
  const [first, second, aged] = [
    await claimOne(db, job, start.workerId),
    await claimOne(db, job, start.workerId),
    new HeldJob((await claimOne(db, job, start.workerId)).job, { ...start, isAged: true }),
  ]
  for (const held of [first, second, aged]) pool.add(held)
  expect([pool.take(), pool.take(), pool.take(), pool.take()]).toEqual([aged, first, second, undefined])
})

test('while a queue has more jobs, the next claim is sent before the jobs of the last claim begin', async () => {
  const job = newJob()
  // More jobs than two claims take, at any prefetch.
  const count = 4_000
  await scene.stint.enqueueMany(job, Array.from({ length: count }))
  let claimed = 0
  let ran = 0
  const inHandWhenSent: number[] = []
  const { query: send } = pg.Client.prototype as unknown as { query: Send }
  const spy = vi.spyOn(pg.Client.prototype as unknown as { query: Send }, 'query')
  spy.mockImplementation(async function (this: pg.Client, ...args) {
    const [{ text = '', values = [] }] = args
    const isClaim = text.includes('jobs/claim.sql') && values.includes(job.queue)
    if (isClaim) inHandWhenSent.push(claimed - ran)
    const result = await send.apply(this, args)
    if (isClaim) claimed += result.rows.length
    return result
  })
  onTestFinished(() => {
    spy.mockRestore()
  })
  const worker = await startFor(scene, job, () => {
    ran++
  })
  await worker.tells('succeeded', () => true, count)
  expect(ran).toBe(count)
  expect(Math.max(...inHandWhenSent)).toBeGreaterThan(50)
})

test('a claim stays pending until its jobs are held, also while a slow claim looks for the tail of the queue', async () => {
  const job = newJob()
  const { pool } = claimer(job)
  await scene.stint.enqueue(job)
  const [isLooking, goOn] = [gate(), gate()]
  const slow: ClaimsConfig['db'] = {
    transaction: (work) => db.transaction(work),
    schema: 'stint',
    query: async (text, values) => {
      if (text.includes('jobs/tail.sql')) {
        isLooking.open(undefined)
        await goOn.opened
        throw new Error('nor does it matter that this fails')
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
      return db.query(text, values)
    },
  }
  const claims = new Claims({ db: slow, workerId: randomUUID(), kinds: JSON.stringify({ [job.kind]: 1 }) })
  pool.floors.hint(0)
  const taking = claims.take(pool, 10, performance.now())
  await isLooking.opened
  // Reconciling now, without the pending claim, would give back a job that is about to start.
  const [row] = await scene.db.query<{ lease: string }>(
    'select lease_id as lease from stint.job where queue = $1',
    [job.queue],
  )
  expect([...claims.pending]).toEqual([row?.lease])
  goOn.open(undefined)
  expect((await taking).jobs).toHaveLength(1)
  expect(claims.pending.size).toBe(0)
})

/** Claims ten at a time of one queue, and tells their keys. */
function claimer(
  job: JobContract,
  keyWeight: (key: string) => number = () => 1,
): { pool: QueuePool; next: () => Promise<(string | null)[]> } {
  const name = job.queue
  const pool = new QueuePool({
    name,
    concurrency: 10,
    prefetch: 0,
    weight: 1,
    keyWeight,
    agingAfterMs: 600_000,
    pollFloorMs: 1_000,
  })
  const claims = new Claims({ db, workerId: randomUUID(), kinds: JSON.stringify({ [job.kind]: 1 }) })
  return {
    pool,
    next: async () => (await claims.take(pool, 10, performance.now())).jobs.map(({ key }) => key),
  }
}

describe('a claim that also looks for the tail of the queue', () => {
  /** A claim slow enough to look for the tail afterwards; `look` decides when and what that query answers. */
  async function longClaim(job: JobContract, look: () => Promise<readonly unknown[]>) {
    const { pool } = claimer(job)
    const looking = gate()
    const slow: ClaimsConfig['db'] = {
      transaction: (work) => db.transaction(work),
      schema: 'stint',
      query: async (text, values) => {
        if (text.includes('jobs/tail.sql')) {
          looking.open(undefined)
          return look()
        }
        await pause(20)
        return db.query(text, values)
      },
    }
    const kinds = JSON.stringify({ [job.kind]: 1 })
    const claims = new Claims({ db: slow, workerId: randomUUID(), kinds })
    const { id } = await scene.stint.enqueue(job)
    pool.floors.hint(0)
    const taking = claims.take(pool, 10, performance.now())
    await looking.opened
    return { claims, taking, id }
  }

  test('a claim that looks for the tail stays pending until its jobs are held, so they are not taken for strays', async () => {
    const answer = gate<readonly unknown[]>()
    const { claims, taking, id } = await longClaim(newJob(), () => answer.opened)
    const [row] = await scene.db.query<{ lease_id: string }>('select lease_id from stint.job where id = $1', [
      id,
    ])
    expect([...claims.pending]).toEqual([row?.lease_id])
    answer.open([])
    expect((await taking).jobs).toMatchObject([{ id }])
    expect([...claims.pending]).toEqual([])
  })

  test('a claim keeps its jobs when looking for the tail fails', async () => {
    const { taking, id } = await longClaim(newJob(), () => Promise.reject(new Error('connection lost')))
    expect((await taking).jobs).toMatchObject([{ id }])
  })
})

describe('claims of one queue', () => {
  test('a claim takes a key that had nothing waiting before the key with many jobs', async () => {
    const job = newJob()
    const { pool, next } = claimer(job)
    await scene.stint.enqueueMany(job, Array.from({ length: 300 }), { key: 'busy' })
    pool.lanes.hint('busy', 0)
    expect(await next()).toHaveLength(10)
    for (const key of ['a-late', 'c-late']) {
      await scene.stint.enqueue(job, {}, { key })
      pool.lanes.hint(key, 0)
    }
    expect((await next()).filter((key) => key !== 'busy').sort()).toEqual(['a-late', 'c-late'])
    expect(await next()).toEqual(Array.from({ length: 10 }).fill('busy'))
  })

  test('claims take one job of each key while there are more keys than room, and go on behind the last', async () => {
    const job = newJob()
    const { pool, next } = claimer(job)
    const keys = Array.from({ length: 25 }, (_, n) => `key-${String(n).padStart(2, '0')}`)
    await scene.stint.enqueueMany(job, [...keys, ...keys], { each: (key) => ({ key: key as string }) })
    for (const key of keys) pool.lanes.hint(key, 0)
    expect((await next()).sort()).toEqual(keys.slice(0, 10))
    expect((await next()).sort()).toEqual(keys.slice(10, 20))
    expect((await next()).sort()).toEqual([...keys.slice(0, 5), ...keys.slice(20)])
    expect(await next()).toHaveLength(10)
  })

  test('keys get jobs by their weights, also across claims that cut a turn short', async () => {
    const job = newJob()
    const weights: Record<string, number> = { five: 5, three: 3, one: 1 }
    const { pool, next } = claimer(job, (key) => weights[key] ?? 1)
    for (const key of Object.keys(weights)) {
      await scene.stint.enqueueMany(job, Array.from({ length: 200 }), { key })
      pool.lanes.hint(key, 0)
    }
    const taken: (string | null)[] = []
    for (let n = 0; n < 9; n++) taken.push(...(await next()))
    const counts = ['five', 'three', 'one'].map((name) => taken.filter((key) => key === name).length)
    expect(counts).toEqual([50, 30, 10])
  })

  test('ask for jobs with keys and without in turn', async () => {
    const job = newJob()
    const { pool, next } = claimer(job)
    await scene.stint.enqueueMany(job, Array.from({ length: 100 }))
    await scene.stint.enqueueMany(job, Array.from({ length: 3 }), { key: 'k' })
    pool.floors.hint(0)
    pool.lanes.hint('k', 0)
    expect([...(await next()), ...(await next())]).toContain('k')
    expect(pool.floors.mayHaveWork).toBe(true)
  })

  test('claims of a queue end when neither jobs with keys nor jobs without are left', async () => {
    const job = newJob()
    const { pool, next } = claimer(job)
    pool.rules.set(noRules, 0)
    await scene.stint.enqueueMany(job, Array.from({ length: 20 }), { each: (_, n) => ({ key: `k${n % 2}` }) })
    await scene.stint.enqueueMany(job, Array.from({ length: 20 }))
    pool.floors.hint(0)
    for (const key of ['k0', 'k1']) pool.lanes.hint(key, 0)
    let claimed = 0
    for (let n = 0; n < 20 && pool.mayHaveWork; n++) claimed += (await next()).length
    expect({ claimed, mayHaveWork: pool.mayHaveWork }).toEqual({ claimed: 40, mayHaveWork: false })
  })
})
