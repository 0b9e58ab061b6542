import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type pg from 'pg'
import { expect } from 'vitest'
import { run } from '../../../src/db/statement.ts'
import type { Statement } from '../../../src/db/statement.ts'
import { takeProbeSql } from '../../../src/limits/breakers/take-probe.sql.ts'
import { tripSql } from '../../../src/limits/breakers/trip.sql.ts'
import { createScene } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'
import { sessionOf, untilWaits } from './sessions.ts'

/** Two processes decide at the same time: one opens the breaker, and one wins its probe. */
export async function breakersDecidedOnce(build: Build): Promise<void> {
  const { db } = await createScene(build)
  await db.query(
    `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, since)
     values ('smtp', 60000, 0.5, 10, 30000, 300000, 3, '{timeout}', now() - interval '1 hour')`,
  )
  await db.query(
    `insert into stint.breaker_count (name, slot, process, flush, ok, failed)
     values ('smtp', now(), gen_random_uuid(), 1, 0, 100)`,
  )
  const [one, two] = [await sessionOf(db), await sessionOf(db)]
  const decideTogether = async (decide: (session: pg.Client) => Promise<number>): Promise<number[]> => {
    await one.query('begin')
    const first = await decide(one)
    const second = decide(two)
    await untilWaits(db, two)
    await one.query('commit')
    return [first, await second]
  }

  const trip = await statementOf(build, tripSql)
  const opened = await decideTogether((session) => send(session, trip, { names: ['smtp'], errors: '{}' }))
  expect(opened, 'who opens it').toEqual([1, 0])

  await db.query(`update stint.breaker set probe_at = now()`)
  const takeProbe = await statementOf(build, takeProbeSql)
  const probing = await decideTogether((session) =>
    send(session, takeProbe, { name: 'smtp', prober: randomUUID(), leaseMs: 3_000 }),
  )
  expect(probing, 'who probes it').toEqual([1, 0])

  expect(await db.query(`select opens, changes::integer from stint.breaker`)).toEqual([
    { opens: 1, changes: 2 },
  ])
  expect(await db.query(`select was, state from stint.breaker_change order by at`)).toEqual([
    { was: 'closed', state: 'open' },
    { was: 'open', state: 'half-open' },
  ])
}

/** The statement of this build. The bundle of the unchanged package has no file for it: it is the one of the source. */
async function statementOf<Param extends string>(
  { root }: Build,
  statement: Statement<Param>,
): Promise<Statement<Param>> {
  const file = join(root, `dist/${statement.name}.js`)
  if (!existsSync(file)) return statement
  const module = (await import(`${pathToFileURL(file).href}?${Math.random()}`)) as Record<string, unknown>
  const [found] = Object.values(module) as Statement<Param>[]
  return found ?? statement
}

/** How many decisions this session won. */
async function send<Param extends string>(
  session: pg.Client,
  statement: Statement<Param>,
  params: Readonly<Record<Param, unknown>>,
): Promise<number> {
  const query = async (text: string, values: readonly unknown[]): Promise<readonly unknown[]> =>
    (await session.query<Record<string, unknown>>(text, [...values])).rows
  return (await run({ schema: 'stint', query }, statement, params, () => true)).length
}
