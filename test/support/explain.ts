import pg from 'pg'
import { render } from '../../src/db/statement.ts'
import type { Statement } from '../../src/db/statement.ts'
import type { Explained } from './plan.ts'

type Values = Record<string, string | number | null>

/** A statement with its parameters. */
export interface Call {
  statement: Statement<string>
  params: Values
}

interface Sending {
  mode?: 'generic' | 'custom'
  options?: string
}

/** Plans a statement as a named statement of the driver. */
export async function explain(
  db: pg.Client,
  { statement, params }: Call,
  { mode = 'generic', options = '' }: Sending = {},
): Promise<Explained> {
  await db.query(`set plan_cache_mode = force_${mode}_plan`)
  await db.query('deallocate all')
  await db.query(`prepare probe as ${render(statement, 'stint')}`)
  const { rows } = await db.query<{ 'QUERY PLAN': [Explained] }>(
    `explain (${options} format json) execute probe${argumentsOf(statement, params)}`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('no plan')
  return row['QUERY PLAN'][0]
}

/** Executes a statement, returns what it touched, and rolls back. */
export function analyze(db: pg.Client, one: Call, sending: Sending = {}): Promise<Explained> {
  return tryOut(db, () => explain(db, one, { ...sending, options: 'analyze, buffers, timing off,' }))
}

/** Does work in a transaction, and rolls it back. */
export async function tryOut<Result>(db: pg.Client, work: () => Promise<Result>): Promise<Result> {
  await db.query('begin')
  try {
    return await work()
  } finally {
    await db.query('rollback')
  }
}

/** Executes a statement and returns its rows. */
export async function execute<Row extends pg.QueryResultRow>(
  db: pg.Client,
  { statement, params }: Call,
): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    render(statement, 'stint'),
    statement.params.map((param) => params[param]),
  )
  return rows
}

function argumentsOf({ params }: Statement<string>, values: Values): string {
  const literals = params.map((param) => {
    const value = values[param] ?? null
    return value === null ? 'null' : pg.escapeLiteral(String(value))
  })
  return literals.length === 0 ? '' : `(${literals.join(', ')})`
}
