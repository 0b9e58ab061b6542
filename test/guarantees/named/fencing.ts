import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Line } from '../../support/ledger.ts'
import { eventually } from '../../support/eventually.ts'
import { calm, createScene } from '../harness/scene.ts'
import type { Build, Scene } from '../harness/scene.ts'

/** A worker whose job runs under a newer lease cannot end it in any way. */
export async function zombieSettle(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { untouched, said } = await asZombie(scene, ['complete', 'fail', 'snooze', 'dead-letter', 'cancel'])
  expect(said).toEqual(said.map(() => 'leaseLost'))
  await untouched()
}

/** A worker whose job runs under a newer lease cannot store any other write of its handler. */
export async function zombieSideWrites(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db } = scene
  const { untouched, said } = await asZombie(scene, [
    'progress',
    'log',
    'enqueue',
    'tx',
    'ctx.complete',
    'once',
  ])
  const [left] = await db.query(
    `select (select count(*) from effect)::integer as effects,
            (select count(*) from stint.effect)::integer as keys,
            (select count(*) from stint.log)::integer as lines,
            (select count(*) from stint.jobs where queue = 'children')::integer as children`,
  )
  expect(left).toEqual({ effects: 0, keys: 0, lines: 0, children: 0 })
  expect(said).toEqual(said.map(() => 'leaseLost'))
  await untouched()
}

/** Lets a worker do these writes for jobs that have a newer lease, and returns how each ended. */
export async function asZombie(
  { db, ledger, stint, contract, worker }: Scene,
  writes: readonly string[],
): Promise<{ said: string[]; untouched: () => Promise<void> }> {
  const zombie = await worker('zombie', calm)
  const { jobs } = await stint.enqueueMany(
    contract,
    writes.map((write) => ({ act: 'zombie', write })),
  )
  await ledger.wroteMany({ type: 'start' }, jobs.length)
  const heir = await liveWorker(db)
  await db.query('update stint.job set lease_id = $1, worker_id = $1, epoch = epoch + 1', [heir])
  // For those that take one.
  for (const { id } of jobs) await stint.signal(id, 'go')
  zombie.tell('thawed')
  const isEnding = ({ name, job }: Line): boolean => name !== undefined && job !== undefined
  const endings = await ledger.wroteMany(isEnding, jobs.length)
  return {
    said: endings.map(({ name }) => name ?? ''),
    untouched: async () => {
      const rows = await db.query(
        'select state, lease_id, epoch, attempt, progress from stint.job order by id',
      )
      const heirs = { state: 'running', lease_id: heir, epoch: 2, attempt: 1, progress: null }
      expect(rows).toEqual(jobs.map(() => heirs))
    },
  }
}

/** Stores the row of a live worker, and returns its id. */
async function liveWorker(db: Scene['db']): Promise<string> {
  const id = randomUUID()
  await db.query(
    `insert into stint.worker (id, lease_until, about) values ($1, now() + interval '1 hour', '{}')`,
    [id],
  )
  return id
}

/** The heartbeat of a worker that was declared lost is refused, and the worker goes on under another id. */
export async function zombieHeartbeat(build: Build): Promise<void> {
  const { db, ledger, worker } = await createScene(build)
  await worker('lost', { lease: '3s', sweepEvery: '1h' })
  // clock_timestamp(), the time of the change: a heartbeat that began after this statement may still be applied before it.
  const [{ id } = { id: '' }] = await db.query<{ id: string }>(
    'update stint.worker set lost_at = clock_timestamp() returning id',
  )
  const wasRenewed = eventually(async () => {
    expect(
      await db.query('select 1 from stint.worker where id = $1 and renewed_at > lost_at', [id]),
    ).toHaveLength(1)
  }).then(() => 'renewed' as const)
  wasRenewed.catch(() => undefined)
  const wasLost = ledger.wrote({ name: 'workerLost' }).then(() => 'lost' as const)
  wasLost.catch(() => undefined)
  expect(await Promise.race([wasRenewed, wasLost])).toBe('lost')
  const [, again] = await ledger.wroteMany({ name: 'ready' }, 2)
  expect(again?.workerId).not.toBe(id)
}

/** When two leases of one job end together in one process, the newer ending is stored and the older one refused. */
export async function batchCrossLease(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const both = await worker('both', calm)
  const { id } = await stint.enqueue(contract, { act: 'hold' })
  await ledger.wrote({ type: 'start', job: id, epoch: 1 })
  await db.query(
    `update stint.job set state = 'ready', worker_id = null, lease_id = null, attempt = attempt - 1 where id = $1`,
    [id],
  )
  await ledger.wrote({ type: 'start', job: id, epoch: 2 })
  both.tell('go')
  const endings = await ledger.wroteMany(({ name, job }) => name !== undefined && job === id, 2)
  expect(endings.map(({ name }) => name).sort()).toEqual(['leaseLost', 'succeeded'])
  const [row] = await db.query('select epoch, result from stint.finished where id = $1', [id])
  expect(row).toEqual({ epoch: 2, result: { by: 'both', epoch: 2 } })
}
