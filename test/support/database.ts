import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { databaseUrl } from './database-url.ts'
import { straightWay, usualWay } from './way.ts'

export interface TestDatabase {
  /** For clients and workers under test: goes through the pooler in that lane. */
  url: string
  /** Sends one statement directly to the server, so that a test can look at the database. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  drop(): Promise<void>
}

/** A new migrated database, cloned from the template in tens of milliseconds. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(inject('template'))
}

/** An empty database, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('template0')
}

async function create(template: string): Promise<TestDatabase> {
  const serverUrl = inject('serverUrl')
  const name = `${inject('template').replace('_template', '')}_${randomUUID().slice(0, 8)}`
  await onServer(serverUrl, `create database ${name} template ${template}`)
  const directUrl = databaseUrl(serverUrl, name)
  const pool = new pg.Pool({ connectionString: directUrl, max: 4, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  return {
    url: usualWay(directUrl),
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
      const { rows } = await pool.query<Row>(text, values)
      return rows
    },
    drop: async () => {
      await pool.end()
      await onServer(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** A new direct connection that ends with the test. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client(straightWay(url))
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(serverUrl)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** How many sessions of this database wait for a lock. */
export async function waitingForLocks(db: TestDatabase): Promise<number> {
  const [row] = await db.query<{ sessions: number }>(
    `select count(*)::integer as sessions from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return row?.sessions ?? 0
}
