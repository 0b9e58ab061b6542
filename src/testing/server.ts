/*
 * The databases of tests: each testStint() has one, cloned from a template that has the migrated schema.
 *
 *   stint_test_template_<digest>              the template of one schema: migrations and test-tables.sql
 *   stint_test_template_<digest>_<random>     a template that is being made
 *   stint_test_<time>_<random>                the database of one testStint()
 *
 * What must stay true:
 * - A database with the name of a template is complete: it gets that name last, and nothing can connect to it then.
 *   So a process that is killed while it makes a template leaves no half of one behind.
 * - An old template is never used: the name has a digest of all scripts that made it.
 * - Processes that need the same template at once wait for an advisory lock. The lock belongs to one database of the
 *   server; two processes that connect to different databases may both make the template, and the second to rename it
 *   takes the first one's.
 * - The process that makes a template removes the others. Another version of Stint on the same server then makes its own
 *   again: create database says that the template is missing.
 */
import { createHash, randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { connect } from '../db/connect.ts'
import { Database } from '../db/database.ts'
import { render } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { embeddedDir, startEmbedded } from '../embedded/start.ts'
import { migrate } from '../schema/migrate.ts'
import { latestVersion, migrations } from '../schema/migrations.ts'
import { testTablesScript } from './test-tables.sql.ts'

const prefix = 'stint_test_'
const templatePrefix = `${prefix}template_`
/** A database of this age, with no session, was left behind by a process that was killed. */
const leftAfterMs = 6 * 3_600_000
/** How long a process waits while another one makes the template. */
const patienceMs = 120_000

const codes = { missing: '3D000', exists: '42P04', forbidden: '42501' }

/** One for each server, for the life of the process. */
const servers = new Map<string, Promise<TestServer>>()

/** The server of a URL, else of DATABASE_URL, else the embedded one for tests. */
export function testServer(connection: string | undefined): Promise<TestServer> {
  const url = [connection, process.env['DATABASE_URL']].find((one) => one !== undefined && one !== '') ?? ''
  const known = servers.get(url)
  if (known !== undefined) return known
  const started = startServer(url)
  servers.set(url, started)
  // The next call tries again.
  started.catch(() => servers.delete(url))
  return started
}

async function startServer(url: string): Promise<TestServer> {
  if (url !== '') return new TestServer((await connect(url, {})).url)
  // Beside the server of development, without crash safety. It needs no release: it ends with its last process.
  const dir = join(dirname(embeddedDir()), 'testing')
  const settings = { max_connections: '300' }
  const server = await startEmbedded({ dir, fsync: 'off', settings, idleMs: 10_000 })
  return new TestServer(server.url)
}

/** A server on which this process makes databases for tests. */
export class TestServer {
  readonly #url: string
  readonly #admin: Database
  #template: Promise<string> | undefined

  constructor(url: string) {
    this.#url = url
    this.#admin = new Database({ url, ...connection, poolSize: 4, deadlineMs: patienceMs })
  }

  /** Makes a new migrated database; returns its URL. */
  async create(): Promise<string> {
    const name = `${prefix}${Date.now().toString(36)}_${random()}`
    for (let tries = 1; ; tries++) {
      const template = await (this.#template ??= this.#makeTemplate())
      try {
        await this.#admin.query(`create database ${name} template ${template}`, [])
        return urlOf(this.#url, name)
      } catch (error) {
        // Another version of Stint has removed it.
        this.#template = undefined
        if (codeOf(error) !== codes.missing || tries > 2) throw refused(error)
      }
    }
  }

  async drop(url: string): Promise<void> {
    await this.#admin.query(`drop database if exists ${nameIn(url)} with (force)`, [])
  }

  async #makeTemplate(): Promise<string> {
    const name = `${templatePrefix}${digest}`
    try {
      return await this.#admin.session(
        async (session) => {
          await session.query(`select pg_advisory_lock(hashtextextended('stint.testing', 0))`, [])
          const databases = await listDatabases(session)
          if (!databases.includes(name)) {
            await this.#build(session, name)
            for (const other of databases)
              if (other.startsWith(templatePrefix)) await dropQuietly(session, other)
          }
          for (const left of databases.filter(isLeft)) await dropQuietly(session, left)
          return name
        },
        { deadlineMs: patienceMs },
      )
    } catch (error) {
      // The next call tries again.
      this.#template = undefined
      throw refused(error)
    }
  }

  async #build(session: Queryable, name: string): Promise<void> {
    const draft = `${name}_${random()}`
    await session.query(`create database ${draft}`, [])
    const db = new Database({
      url: urlOf(this.#url, draft),
      ...connection,
      poolSize: 1,
      deadlineMs: patienceMs,
    })
    try {
      await migrate(db)
      await db.transaction((tx) => tx.query(render(testTablesScript, 'stint'), []))
    } finally {
      await db.close()
    }
    await session.query(`alter database ${draft} with allow_connections false`, [])
    try {
      await session.query(`alter database ${draft} rename to ${name}`, [])
    } catch (error) {
      await dropQuietly(session, draft)
      if (codeOf(error) !== codes.exists) throw error
    }
  }
}

const connection = { schema: 'stint', applicationName: 'stint testing' }

/** Names the scripts that a template is made of. */
const digest = `v${latestVersion}_${createHash('sha256')
  .update(
    [...migrations.map(({ script }) => script), testTablesScript].map((one) => one.parts.join('')).join('\n'),
  )
  .digest('hex')
  .slice(0, 12)}`

async function listDatabases(session: Queryable): Promise<string[]> {
  const rows = await session.query('select datname from pg_database where starts_with(datname, $1)', [prefix])
  return (rows as { datname: string }[]).map(({ datname }) => datname)
}

function isLeft(name: string): boolean {
  const [, time = ''] = /^stint_test_([0-9a-z]+)_[0-9a-f]+$/.exec(name) ?? []
  return time !== '' && Date.now() - parseInt(time, 36) > leftAfterMs
}

/** A database that is in use stays. */
async function dropQuietly(session: Queryable, name: string): Promise<void> {
  await session.query(`drop database if exists ${name}`, []).catch(() => undefined)
}

function random(): string {
  return randomBytes(4).toString('hex')
}

function urlOf(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1)
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

function refused(error: unknown): unknown {
  if (codeOf(error) !== codes.forbidden) return error
  return new StintError(
    'database-rejected',
    `testStint() makes a database for each test, and the login of \`connection\` or DATABASE_URL may not: ${messageOf(error)}. ` +
      'Grant it CREATEDB, or leave both out: then testStint() uses the embedded PostgreSQL.',
    { cause: error },
  )
}
