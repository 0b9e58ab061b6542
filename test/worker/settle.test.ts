import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JobContract } from '../../src/index.ts'
import type { StoredError } from '../../src/core/failures/stored-error.ts'
import { Database } from '../../src/db/database.ts'
import { HeldJobs } from '../../src/worker/attempt/held-job.ts'
import type { HeldJob } from '../../src/worker/attempt/held-job.ts'
import type { Ended, Outcome } from '../../src/worker/attempt/outcome.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { Settler } from '../../src/worker/settle/settler.ts'
import { claimOne } from '../support/claimed.ts'
import { connectTo } from '../support/database.ts'
import { attemptsOf, newJob, startFor, stored, takeLease, workerScene } from '../support/workers.ts'

const scene = workerScene()
let db: Database
beforeAll(() => {
  const { url } = scene.db
  db = new Database({ url, schema: 'stint', poolSize: 4, deadlineMs: 10_000, applicationName: 'test' })
})
afterAll(() => db.close())

function succeededWith(result: unknown): Outcome {
  return { type: 'succeeded', result: JSON.stringify(result), children: [] }
}

const error: StoredError = {
  class: 'unknown',
  name: 'Error',
  message: 'late',
  causes: [],
  fingerprint: 'f',
}
const retried: Outcome = { type: 'retry', delayMs: 60_000, burnsAttempt: true, error, timedOut: false }

/** A settler, with the jobs that it stored and the jobs that it was refused. */
function newSettler(): {
  settle: (ended: Ended) => Promise<void>
  held: HeldJobs
  settled: HeldJob[]
  refused: HeldJob[]
} {
  const held = new HeldJobs()
  const settled: HeldJob[] = []
  const refused: HeldJob[] = []
  const fail = (_part: string, trouble: unknown): never => {
    throw trouble
  }
  const settler = new Settler({
    db,
    held,
    handlers: new Handlers(),
    announcer: { stored: () => undefined },
    notes: { log: () => undefined, flush: () => Promise.resolve() },
    troubles: { of: fail, ofJobs: fail, beside: fail, wentWell: () => undefined },
    budgets: { place: (_, retry) => retry },
  })
  const settle = async (ended: Ended): Promise<void> => {
    const { type, held: one } = await settler.settle(ended)
    ;(type === 'stored' ? settled : refused).push(one)
  }
  return { settle, held, settled, refused }
}

async function claimedTwice(job: JobContract): Promise<{ id: string; stale: HeldJob; current: HeldJob }> {
  const { id } = await scene.stint.enqueue(job)
  const worker = randomUUID()
  const stale = await claimOne(db, job, worker)
  await takeLease(scene, id)
  const current = await claimOne(db, job, worker)
  return { id, stale, current }
}

describe('endings of one batch', () => {
  test.each([
    ['stale first', true],
    ['stale last', false],
  ])(
    'a batch never mixes two leases of one job: the ending of the older lease is sent alone and refused (%s)',
    async (_order, isFirst) => {
      const { settle, held, settled, refused } = newSettler()
      const { id, stale, current } = await claimedTwice(newJob())
      const others = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const job = newJob()
          await scene.stint.enqueue(job)
          return claimOne(db, job, randomUUID())
        }),
      )
      for (const one of [stale, current, ...others]) held.add(one)
      const late = { held: stale, outcome: succeededWith('stale'), ranMs: 1 }
      const own = { held: current, outcome: succeededWith('current'), ranMs: 1 }
      const rest = others.map((one) => ({ held: one, outcome: succeededWith('other'), ranMs: 1 }))
      await Promise.all([...(isFirst ? [late, own] : [own, late]), ...rest].map(settle))
      expect(refused).toEqual([stale])
      expect(new Set(settled)).toEqual(new Set([current, ...others]))
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'current', epoch: 2 })
      expect(await attemptsOf(scene, id)).toMatchObject([
        { epoch: 1, outcome: 'refused', reason: 'late settle refused: succeeded' },
      ])
    },
  )

  test('any ending under an older lease is refused, and the job stays with the newer lease', async () => {
    const outcomes: Outcome[] = [
      ...[succeededWith('stale'), retried],
      { type: 'dead', reason: 'permanent', error, timedOut: false },
      { type: 'cancelled', reason: 'stale' },
      { type: 'snoozed', delayMs: 1, reason: null },
      { type: 'released', reason: 'stale' },
    ]
    for (const outcome of outcomes) {
      const { settle, held, settled, refused } = newSettler()
      const { id, stale, current } = await claimedTwice(newJob())
      held.add(stale)
      held.add(current)
      await settle({ held: stale, outcome, ranMs: 1 })
      expect({ outcome: outcome.type, settled, refused }).toEqual({
        outcome: outcome.type,
        settled: [],
        refused: [stale],
      })
      const [row] = await scene.db.query('select state, lease_id, epoch from stint.job where id = $1', [id])
      expect(row).toEqual({ state: 'running', lease_id: current.job.leaseId, epoch: 2 })
    }
  })

  test('endings of different types are settled together, each by its own statement', async () => {
    const { settle, held, settled } = newSettler()
    const job = newJob()
    const outcomes: [Outcome, object][] = [
      [succeededWith({ n: 1 }), { state: 'succeeded', result: { n: 1 }, attempt: 1 }],
      [
        { type: 'succeeded', result: undefined, children: [] },
        { state: 'succeeded', result: null },
      ],
      [retried, { state: 'retrying', attempt: 1 }],
      [
        { type: 'dead', reason: 'permanent', error, timedOut: false },
        { state: 'dead', reason: 'permanent', error },
      ],
      [
        { type: 'cancelled', reason: 'enough' },
        { state: 'cancelled', reason: 'enough' },
      ],
      [
        { type: 'snoozed', delayMs: 60_000, reason: null },
        { state: 'scheduled', attempt: 0 },
      ],
      [
        { type: 'released', reason: 'stopped' },
        { state: 'ready', attempt: 0 },
      ],
    ]
    await scene.stint.enqueueMany(job, outcomes.keys())
    const endings: { ended: Ended; expected: object }[] = []
    for (const [outcome, expected] of outcomes)
      endings.push({ ended: { held: await claimOne(db, job, randomUUID()), outcome, ranMs: 5 }, expected })
    for (const { ended } of endings) held.add(ended.held)
    await Promise.all(endings.map(({ ended }) => settle(ended)))
    expect(settled).toHaveLength(outcomes.length)
    for (const { ended, expected } of endings)
      expect(await stored(scene, ended.held.job.id)).toMatchObject(expected)
  })

  test('a settle does not wait for another job whose row is locked', async () => {
    const { settle, held, settled } = newSettler()
    const job = newJob()
    await scene.stint.enqueueMany(job, [1, 2])
    const [first, second] = [await claimOne(db, job, randomUUID()), await claimOne(db, job, randomUUID())]
    held.add(first)
    held.add(second)
    const client = await connectTo(scene.db.url)
    await client.query('begin')
    await client.query('select from stint.job where id = $1 for update', [first.job.id])
    const isSettled = settle({ held: first, outcome: retried, ranMs: 1 })
    await settle({ held: second, outcome: succeededWith(2), ranMs: 1 })
    expect(settled).toEqual([second])
    await client.query('commit')
    await isSettled
    expect(settled).toEqual([second, first])
  })
})

describe('a missing day partition', () => {
  async function dropPartitions(): Promise<void> {
    const rows = await scene.db.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits
        where inhparent in ('stint.finished'::regclass, 'stint.attempt'::regclass, 'stint.log'::regclass)`,
    )
    for (const { name } of rows) await scene.db.query(`drop table ${name}`)
  }

  test.each(['succeed', 'tx', 'complete', 'fail', 'snooze', 'cancel', 'log'])(
    'a settle creates the missing partitions of its day: %s',
    async (how) => {
      const job = newJob()
      const child = newJob('child')
      const client = await connectTo(scene.db.url)
      const handler: Parameters<typeof startFor>[2] = async (_input, ctx) => {
        if (ctx.fence.epoch === 1) {
          await dropPartitions()
          if (how === 'fail') throw new Error('once')
          if (how === 'snooze') ctx.snooze('1ms')
          if (how === 'log') ctx.log.info('kept')
        }
        await ctx.enqueue(child)
        if (how === 'tx') return ctx.tx(() => Promise.resolve(how))
        if (how === 'complete') {
          await client.query('begin')
          await ctx.complete(client, { result: how }).catch(async (refused: unknown) => {
            await client.query('rollback')
            throw refused
          })
          await client.query('commit')
        }
        return how
      }
      // Without upkeep, no other part creates the partitions or blocks the drop.
      const worker = await startFor(scene, job, handler, { upkeep: false })
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: how })
      expect(await scene.db.query('select from stint.job where parent_id = $1', [id])).toHaveLength(1)
      if (how === 'log')
        expect(await scene.db.query('select message from stint.log where job_id = $1', [id])).toEqual([
          { message: 'kept' },
        ])
      if (how === 'tx') expect(await attemptsOf(scene, id)).toEqual([])
    },
  )
})
