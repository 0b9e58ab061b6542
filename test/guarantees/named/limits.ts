import type pg from 'pg'
import { expect } from 'vitest'
import type { TestDatabase } from '../../support/database.ts'
import { installFunctions } from '../harness/mutated-sql.ts'
import { createScene } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'
import { sessionOf, untilWaits } from './sessions.ts'

/** Two claims at the same time take no more jobs than a limit of a queue and a limit over two queues allow. */
export async function limitsExact(build: Build): Promise<void> {
  const db = await limitedScene(build)
  await db.query(
    `insert into stint.concurrency_limit (name, by_key, max) values ('per-key', true, 2), ('group', false, 3)`,
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name, since)
     values ('a', 'concurrency', 'per-key', now() - interval '1 hour'),
            ('b', 'concurrency', 'group', now() - interval '1 hour'), ('c', 'concurrency', 'group', now() - interval '1 hour')`,
  )
  await store(db, 'a', 10)
  await store(db, 'b', 10)
  await store(db, 'c', 10)
  // The first base is written before: a claim that has to write it counts all running jobs.
  for (const queue of ['a', 'b', 'c']) await db.query('select stint.rebase($1)', [queue])
  for (const [first, second, max] of [
    ['a', 'a', 2],
    ['b', 'c', 3],
  ] as const) {
    const taken = await claimTogether(db, first, second)
    expect(taken, `${first} and ${second} together`).toBe(max)
  }
}

/** A job that was given back and claimed again counts once. */
export async function limitsCountOnce(build: Build): Promise<void> {
  const db = await limitedScene(build)
  await db.query(`insert into stint.concurrency_limit (name, max) values ('whole', 2)`)
  await db.query(
    `insert into stint.limit_cover (queue, type, name, since) values ('a', 'concurrency', 'whole', now() - interval '1 hour')`,
  )
  await store(db, 'a', 3)
  const session = await sessionOf(db)
  expect(await claim(session, 'a', 1)).toBe(1)
  await db.query(`delete from stint.running_base`)
  await db.query(`select stint.rebase('a')`)
  await db.query(
    `update stint.job set state = 'ready', worker_id = null, lease_id = null, run_at = '2020-01-01Z' where state = 'running'`,
  )
  expect(await claim(session, 'a', 1)).toBe(1)
  expect(await claim(session, 'a', 2), 'the place that is left').toBe(1)
}

/** A key whose jobs of two sorts, with and without order, are asked for together stays within its limit. */
export async function limitsBothSorts(build: Build): Promise<void> {
  const db = await limitedScene(build)
  await db.query(`insert into stint.concurrency_limit (name, by_key, max) values ('per-key', true, 1)`)
  await db.query(
    `insert into stint.limit_cover (queue, type, name, since) values ('a', 'concurrency', 'per-key', now() - interval '1 hour')`,
  )
  await store(db, 'a', 2)
  await store(db, 'a', 2, `{"ordered": "hold"}`)
  const session = await sessionOf(db)
  const { rows } = await session.query(
    `select (job).id from stint.claim_limited('a', gen_random_uuid(), gen_random_uuid(), '{"work": 1}', 10, '{k,k}', '{0,0}',
       '{-infinity,-infinity}', array_fill('00000000-0000-0000-0000-000000000000'::uuid, '{2}'), '{5,5}', '{t,f}')
      where (job).id is not null`,
  )
  expect(rows).toHaveLength(1)
}

/** The first live job of a key holds the others, also while it waits for its next attempt. */
export async function orderFirstLive(build: Build): Promise<void> {
  const db = await limitedScene(build)
  await store(db, 'a', 2, `{"ordered": "hold"}`)
  await db.query(
    `update stint.job set state = 'retrying', run_at = now() + interval '1 hour'
      where id = (select id from stint.job order by created_at, id limit 1)`,
  )
  const session = await sessionOf(db)
  expect(await claim(session, 'a', 5, true), 'while the first one waits').toBe(0)
  await db.query(`update stint.job set state = 'ready' where state = 'retrying'`)
  expect(await claim(session, 'a', 5, true), 'the first one').toBe(1)
  expect(await claim(session, 'a', 5, true), 'while the first one runs').toBe(0)
}

/** Two takers at the same time get no more tokens than there are, and neither meets an error. */
export async function ratesExact(build: Build): Promise<void> {
  const { db } = await createScene(build)
  await installFunctions(db, build, '0010_rates')
  await db.query(`insert into stint.rate (name, tokens, period_ms, burst) values ('r', 1, 3600000, 10)`)
  await db.query(`select * from stint.take_tokens('r', '', 1, 1, 0, false, 0)`)
  const [one, two] = [await sessionOf(db), await sessionOf(db)]
  const take = async (session: pg.Client): Promise<number> => {
    const { rows } = await session.query(`select granted from stint.take_tokens('r', '', 6, 6, 0, false, 0)`)
    return (rows[0] as { granted: number }).granted
  }
  await one.query('begin')
  const first = await take(one)
  const second = take(two).catch((error: unknown) => String(error))
  await untilWaits(db, two)
  await one.query('commit')
  expect([first, await second]).toEqual([6, 0])
}

/** A database with the functions of this build. */
async function limitedScene(build: Build): Promise<TestDatabase> {
  const { db } = await createScene(build)
  await installFunctions(db, build, '0011_limits')
  await installFunctions(db, build, '0012_claim_limited')
  return db
}

async function store(
  db: TestDatabase,
  queue: string,
  jobs: number,
  options: string | null = null,
): Promise<void> {
  await db.query(
    `insert into stint.job (id, queue, kind, key, input, options, created_at)
     select gen_random_uuid(), $1, 'work', 'k', jsonb_build_object('n', n), $3::jsonb, now() + n * interval '1 ms'
       from generate_series(1, $2::integer) as n`,
    [queue, jobs, options],
  )
}

/** Claims from the only key of a queue, and returns how many jobs it took. */
async function claim(session: pg.Client, queue: string, limit: number, isOrdered = false): Promise<number> {
  const { rows } = await session.query(
    `select (job).id from stint.claim_limited($1, gen_random_uuid(), gen_random_uuid(), '{"work": 1}', $2,
                                              '{k}', '{0}', '{-infinity}', '{00000000-0000-0000-0000-000000000000}', $3, $4)
      where (job).id is not null`,
    [queue, limit, [limit], [isOrdered]],
  )
  return rows.length
}

/** One claim that is not committed yet, and one that comes meanwhile; returns how many jobs both took. */
async function claimTogether(db: TestDatabase, first: string, second: string): Promise<number> {
  const [one, two] = [await sessionOf(db), await sessionOf(db)]
  await one.query('begin')
  const taken = await claim(one, first, 5)
  const more = claim(two, second, 5)
  await untilWaits(db, two)
  await one.query('commit')
  return taken + (await more)
}
