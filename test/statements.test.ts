import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { render } from '../src/db/statement.ts'
import type { Statement } from '../src/db/statement.ts'
import { testTablesScript } from '../src/testing/test-tables.sql.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

const source = join(import.meta.dirname, '../src')
// COPY cannot be prepared; test/enqueue.test.ts runs it.
const scripts = /migrations|roles\.sql|test-tables\.sql|enqueue-copy\.sql/
const statements = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.sql.ts') && !scripts.test(name),
)

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  // For the statements of stint/testing.
  await db.query(render(testTablesScript, 'stint'))
})
afterAll(() => db.drop())

test.each(statements)('%s fits the schema', async (name) => {
  const module = (await import(join(source, name))) as Record<string, Statement<string>>
  const [statement] = Object.values(module)
  if (statement === undefined) throw new Error(`${name} exports no statement`)
  await db.query(`prepare probe as ${render(statement, 'stint')}`)
  const [row] = await db.query<{ parameters: number }>(
    `select cardinality(parameter_types) as parameters from pg_prepared_statements where name = 'probe'`,
  )
  await db.query('deallocate probe')
  expect(row?.parameters).toBe(statement.params.length)
})
