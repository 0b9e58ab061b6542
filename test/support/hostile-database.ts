import pg from 'pg'
import { expect } from 'vitest'
import { Stint } from '../../src/index.ts'
import { createTestDatabase } from './database.ts'
import {
  addConstraints,
  callableFunctions,
  createTry,
  dropConstraints,
  insertOf,
  laterConstraints,
  tryWrites,
  writableColumns,
} from './hostile-catalog.ts'
import type { CallableFunction, Query, WritableColumn } from './hostile-catalog.ts'
import { afterwards } from './hostile-planted.ts'
import type { Planted } from './hostile-planted.ts'

/** The roles whose writes are hostile. */
export const roles = ['stint_producer', 'stint_operator'] as const

/** An ordinary row beside hostile ones. */
export type Beside = Pick<Planted, 'table' | 'row' | 'circumstance'>

/** A database with the roles, what they can write, and an owner who plants rows that the roles cannot write. */
export interface HostileDatabase {
  url: string
  /** Asks as the owner, over one connection. */
  query: Query
  /** The columns of all tables that a role can write. */
  columns: readonly WritableColumn[]
  functions: readonly CallableFunction[]
  /** The type of each column, by `table.column`. */
  types: ReadonlyMap<string, string>
  /** Plants rows as older releases could store them, then those that no release could. Returns the stored ones. */
  plant(rows: readonly Planted[], beside: readonly Beside[]): Promise<Planted[]>
  /** Removes jobs as the owner, so that others can be tested alone. */
  forget(queues: readonly string[], rows: readonly Planted[]): Promise<void>
  drop(): Promise<void>
}

export async function createHostileDatabase(): Promise<HostileDatabase> {
  const db = await createTestDatabase()
  const stint = new Stint({ connection: db.url })
  await stint.migrate({ roles: true })
  await stint.close()
  const owner = new pg.Client(db.url)
  await owner.connect()
  const query = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await owner.query<Row>(text, values)).rows
  await createTry(query)
  const columns = await writableColumns(query, roles)
  const functions = await callableFunctions(query, roles)
  const later = await laterConstraints(query)
  const types = new Map(columns.map(({ table, column, type }) => [`${table}.${column}`, type]))

  /** Tries to insert each row, and returns for each that it is stored, or why not. */
  async function insert(rows: readonly Beside[]): Promise<string[]> {
    const writes = rows.map((one) => ({ ...insertOf(one.table, one.row, types), after: afterwards(one) }))
    const said = await tryWrites(query, writes)
    for (const [at, answer] of said.entries())
      if (answer !== 'stored' && !isRefusal(answer))
        throw new Error(`${JSON.stringify(rows[at]).slice(0, 500)}: ${answer}`)
    return said
  }

  return {
    url: db.url,
    query,
    columns,
    functions,
    types,
    async plant(rows, beside) {
      const [valid, open] = [later.filter(({ isValid }) => isValid), later.filter(({ isValid }) => !isValid)]
      await dropConstraints(query, later)
      await addConstraints(query, valid)
      const usual = await insert(beside)
      const said = await insert(rows)
      const refused = rows.filter((_, at) => said[at] !== 'stored')
      await dropConstraints(query, valid)
      const barred = await insert(refused)
      // As after the upgrade that added the constraints: old rows stay, and new writes have to pass.
      await addConstraints(query, open)
      for (const [at, { table }] of beside.entries()) expect(usual[at], `usual ${table}`).toBe('stored')
      const stored = [
        ...rows.filter((_, at) => said[at] === 'stored'),
        ...refused.filter((_, at) => barred[at] === 'stored').map((row) => ({ ...row, isBarred: true })),
      ]
      // Otherwise something else keeps them out, and nothing is tested.
      if (rows.length > 100) expect(stored.length).toBeGreaterThan(0.75 * rows.length)
      return stored
    },
    async forget(queues, rows) {
      const ids = rows.map(({ id }) => id)
      for (const table of ['job', 'dead', 'finished'])
        await query(`delete from stint.${table} where queue = any($1) or id = any($2::uuid[])`, [queues, ids])
    },
    async drop() {
      await owner.end()
      await db.drop()
    },
  }
}

/** Whether a write was refused for its value: wrong data, a violated constraint, a limit of Postgres. */
export function isRefusal(said: string): boolean {
  return /^(22|23|54|ST)/.test(said)
}
