import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../src/embedded/start.ts'
import { Stint } from '../../src/index.ts'
import { databaseUrl } from './database-url.ts'
import { lane } from './lane.ts'
import { pgBouncerVersion, startPgBouncer } from './pgbouncer.ts'
import type { PgBouncer } from './pgbouncer.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run, with its login. */
    serverUrl: string
    /** A migrated database that every test file clones. */
    template: string
    /** The port of the PgBouncer that clients and workers under test use; 0 for none. */
    poolerPort: number
  }
}

/** One server and one migrated template for the whole run; each test file clones the template into its own database. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startServer()
  const run = `test_${randomUUID().replaceAll('-', '')}`
  const template = `${run}_template`
  const admin = new pg.Client(server.url)
  await admin.connect()
  await dropLeftovers(admin)
  await admin.query(`create database ${template}`)
  const stint = new Stint({ connection: databaseUrl(server.url, template) })
  await stint.migrate()
  await stint.close()
  await admin.end()
  provide('serverUrl', server.url)
  provide('template', template)
  const pooler = await startPooler(server.url)
  provide('poolerPort', pooler?.port ?? 0)
  return async () => {
    await pooler?.remove()
    const cleaner = new pg.Client(server.url)
    await cleaner.connect()
    await dropDatabases(cleaner, run)
    await cleaner.end()
    await server.release()
  }
}

async function startPooler(serverUrl: string): Promise<PgBouncer | undefined> {
  if (lane !== 'pgbouncer') return undefined
  const version = pgBouncerVersion()
  if (version === undefined) throw new Error('The pgbouncer lane needs PgBouncer: apt-get install pgbouncer')
  process.stderr.write(`through PgBouncer ${version}, transaction mode, no prepared statements\n`)
  return startPgBouncer(serverUrl)
}

/** The embedded server, or the server of another version that STINT_TEST_SERVER names by the URL of a superuser. */
async function startServer(): Promise<{ url: string; release(): Promise<void> }> {
  const url = process.env['STINT_TEST_SERVER']
  if (url !== undefined && url !== '') return { url, release: () => Promise.resolve() }
  const dir = join(import.meta.dirname, '../../.stint/test')
  const settings = { max_connections: '300', autovacuum: 'off' }
  return startEmbedded({ dir, fsync: 'off', settings })
}

/** Drops the test databases of runs that were killed, if no other client is connected. */
async function dropLeftovers(admin: pg.Client): Promise<void> {
  const { rows } = await admin.query<{ others: number }>(
    `select count(*)::integer as others from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
  if (rows[0]?.others === 0) await dropDatabases(admin, 'test_')
}

async function dropDatabases(admin: pg.Client, prefix: string): Promise<void> {
  const { rows } = await admin.query<{ datname: string }>(
    'select datname from pg_database where starts_with(datname, $1)',
    [prefix],
  )
  for (const { datname } of rows) await admin.query(`drop database if exists ${datname} with (force)`)
}
