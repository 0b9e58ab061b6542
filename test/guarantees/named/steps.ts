import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { TestDatabase } from '../../support/database.ts'
import { installFunctions } from '../harness/mutated-sql.ts'
import { calm, createScene } from '../harness/scene.ts'
import type { Build, Scene } from '../harness/scene.ts'
import { asZombie } from './fencing.ts'
import { sessionOf, untilWaits } from './sessions.ts'

/** A worker whose job runs under a newer lease stores no record, takes no signal and suspends nothing. */
export async function zombieSteps(build: Build): Promise<void> {
  const scene = await createScene(build)
  await installFunctions(scene.db, build, '0017_waiting')
  const { untouched, said } = await asZombie(scene, ['step', 'stepTx', 'take', 'suspend'])
  // The worker stores the record of a wait before it suspends, and goes no further.
  const [job] = await scene.db.query<{ id: string }>('select id from stint.job limit 1')
  expect(await scene.db.query(suspendOf(job?.id ?? '', randomUUID()))).toEqual([])
  const [left] = await scene.db.query(
    `select (select count(*) from effect)::integer as effects,
            (select count(*) from stint.step)::integer as records,
            (select count(*) from stint.signal where taken_by is not null)::integer as taken`,
  )
  expect(left).toEqual({ effects: 0, records: 0, taken: 0 })
  expect(said).toEqual(said.map(() => 'leaseLost'))
  await untouched()
}

/** A job that runs, and what suspends it until the signal `go` comes. */
async function runningJob({ db, stint, contract }: Scene): Promise<{ id: string; suspend: string }> {
  const { id } = await stint.enqueue(contract, {})
  const lease = randomUUID()
  await db.query(
    `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $2, begun_lease = $2 where id = $1`,
    [id, lease],
  )
  return { id, suspend: suspendOf(id, lease) }
}

/** The statement that lets a job wait for the signal `go`. */
function suspendOf(id: string, lease: string): string {
  const item = { id, lease, waits: { signals: [{ name: 'go' }] }, ranMs: 1, reason: 'signal:go' }
  return `select * from stint.suspend('${JSON.stringify([item])}'::jsonb, '${lease}'::uuid)`
}

/** Whether the job is ready, or will look again within a second. */
async function looksAgain(db: TestDatabase, id: string): Promise<unknown> {
  const [row] = await db.query<{ looks: boolean }>(
    `select state::text = 'ready' or run_at < stint.now() + interval '1 second' as looks from stint.job where id = $1`,
    [id],
  )
  return row?.looks
}

/** A signal beside a suspend wakes the job, whichever of the two transactions commits first. */
export async function signalBesideSuspend(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db } = scene
  await installFunctions(db, build, '0017_waiting')
  const [one, two] = [await sessionOf(db), await sessionOf(db)]

  const sentFirst = await runningJob(scene)
  await one.query('begin')
  await one.query(`select stint.signal($1, 'go')`, [sentFirst.id])
  await two.query(sentFirst.suspend)
  await one.query('commit')
  expect(await looksAgain(db, sentFirst.id), 'the signal was sent first').toBe(true)

  const suspendedFirst = await runningJob(scene)
  await one.query('begin')
  await one.query(suspendedFirst.suspend)
  const sending = two.query(`select stint.signal($1, 'go')`, [suspendedFirst.id])
  await untilWaits(db, two)
  await one.query('commit')
  await sending
  expect(await looksAgain(db, suspendedFirst.id), 'the job was suspended first').toBe(true)
}

/** A signal wakes only a job that waits for it. */
export async function signalAwaited(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db } = scene
  await installFunctions(db, build, '0017_waiting')
  const { id, suspend } = await runningJob(scene)
  await db.query(suspend)
  const stateOf = async (): Promise<unknown> =>
    (await db.query<{ state: string }>('select state from stint.job where id = $1', [id]))[0]?.state
  await db.query(`select stint.signal($1, 'other')`, [id])
  expect(await stateOf()).toBe('waiting')
  await db.query(`select stint.signal($1, 'go')`, [id])
  expect(await stateOf()).toBe('ready')
}

/** A repeated handler gets the same results: of parallel steps of one name, of a race, and of a step that failed. */
export async function stepsReplayed(build: Build): Promise<void> {
  const { ledger, stint, contract, worker } = await createScene(build)
  await worker('worker', calm)
  const { id } = await stint.enqueue(contract, { act: 'replayed', attempts: 3 }, { attempts: 5 })
  await ledger.wrote({ name: 'succeeded', job: id })
  const seen = ledger.lines({ type: 'saw', job: id }).map(({ values }) => values)
  expect(seen).toHaveLength(3)
  expect(seen).toEqual(seen.map(() => seen[0]))
  const runs = ledger.lines({ type: 'ran', job: id })
  expect(runs.map(({ step }) => step).sort(), 'each step ran once').toEqual([
    ...[
      'broken',
      'fast',
      'last',
      'slow',
      'square 0',
      'square 1',
      'square 2',
      'square 3',
      'square 4',
      'square 5',
    ],
  ])
}
