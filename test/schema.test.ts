import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Database } from '../src/db/database.ts'
import { defineJob, Stint } from '../src/index.ts'
import { expectedObjects } from '../src/schema/expected-objects.ts'
import { checkSchema, migrate } from '../src/schema/migrate.ts'
import { migrations } from '../src/schema/migrations.ts'
import type { Migration } from '../src/schema/migrations.ts'
import { connectTo, createEmptyDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { describeObjects, describeSchema } from './support/describe-schema.ts'

const folder = join(import.meta.dirname, '../src/schema')
const job = defineJob({ kind: 'schema.probe' })

let db: TestDatabase
beforeAll(async () => {
  db = await createEmptyDatabase()
})
afterAll(() => db.drop())

/** A client for a schema of its own, so that the tests of this file do not interfere. */
function clientFor(schema: string): Stint {
  return new Stint({ connection: db.url, schema })
}

function databaseFor(schema: string): Database {
  const database = new Database({
    url: db.url,
    schema,
    poolSize: 1,
    deadlineMs: 30_000,
    applicationName: 'schema test',
  })
  onTestFinished(() => database.close())
  return database
}

function fakeMigration(version: number, parts: string[]): Migration {
  return { version, script: { name: `schema/migrations/000${version}_fake.sql`, parts } }
}

describe('migrate', () => {
  test('migrate makes everything from nothing, and a repeat has nothing to do', async () => {
    const stint = clientFor('fresh')
    const first = await stint.migrate()
    expect(first).toEqual({
      version: migrations.length,
      applied: migrations.map(({ script }) => script.name),
    })
    expect(await stint.migrate()).toEqual({ version: migrations.length, applied: [] })
    await stint.close()
  })

  test('migrate from ten processes at once applies each migration once', async () => {
    const clients = Array.from({ length: 10 }, () => clientFor('crowd'))
    const results = await Promise.all(clients.map((stint) => stint.migrate()))
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual(
      migrations.map(({ script }) => script.name),
    )
    await Promise.all(clients.map((stint) => stint.close()))
  })

  test('migrate refuses a schema that newer code has migrated', async () => {
    const stint = clientFor('newer')
    await stint.migrate()
    await db.query(
      `insert into newer.migration (version, name) values (999, 'schema/migrations/0999_future.sql')`,
    )
    await expect(stint.migrate()).rejects.toMatchObject({
      code: 'schema-too-new',
      message: expect.stringContaining('999') as string,
    })
    await stint.close()
  })

  test('migrate keeps the data, rolls back a migration that fails, and later continues there', async () => {
    const first = fakeMigration(1, ['create table ', 'stint', '.thing (id integer)'])
    const second = fakeMigration(2, ['alter table ', 'stint', '.thing add column size integer default 7'])
    const broken = fakeMigration(3, ['delete from ', 'stint', '.thing; select 1 / 0'])
    const mended = fakeMigration(3, ['update ', 'stint', '.thing set size = size + 1'])
    const database = databaseFor('upgraded')

    expect(await migrate(database, {}, [first])).toEqual({ version: 1, applied: [first.script.name] })
    await db.query('insert into upgraded.thing values (1)')
    await expect(migrate(database, {}, [first, second, broken])).rejects.toMatchObject({
      code: 'migration-failed',
      message: expect.stringContaining('division by zero') as string,
    })
    expect(await db.query('select id, size from upgraded.thing')).toEqual([{ id: 1, size: 7 }])
    expect(await migrate(database, {}, [first, second, mended])).toEqual({
      version: 3,
      applied: [mended.script.name],
    })
    expect(await db.query('select id, size from upgraded.thing')).toEqual([{ id: 1, size: 8 }])
    expect(await db.query('select version, name from upgraded.migration order by version')).toEqual(
      [first, second, mended].map(({ version, script }) => ({ version, name: script.name })),
    )
  })

  test.each([1, 17])(
    'migrate refuses a schema with %i migrations of an unreleased version, and leaves it as it is',
    async (count) => {
      const schema = `unreleased_${count}`
      const database = databaseFor(schema)
      const others = Array.from({ length: count }, (_, index) => fakeMigration(index + 1, ['select 1']))
      await migrate(database, {}, others)
      const refusal = {
        code: 'schema-unknown',
        message: expect.stringMatching(/0001_fake\.sql.*0001_job_tables\.sql.*stint migrate/) as string,
      }
      await expect(migrate(database)).rejects.toMatchObject(refusal)
      await expect(checkSchema(database)).rejects.toMatchObject(refusal)
      expect(
        await db.query(
          `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind <> 'i'`,
          [schema],
        ),
      ).toEqual([{ name: 'migration' }])
    },
  )

  test('migrate waits for a long reader without blocking others, and finishes when it is gone', async () => {
    const stint = clientFor('busy')
    await db.query('create schema busy')
    await db.query(
      'create table busy.migration (version integer primary key, name text, applied_at timestamptz default now())',
    )
    const reader = await connectTo(db.url)
    await reader.query('begin; lock table busy.migration in access exclusive mode')
    const migrating = stint.migrate()
    await expect
      .poll(() =>
        db.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%migration%'`,
        ),
      )
      .toHaveLength(1)
    await reader.query('rollback')
    expect(await migrating).toMatchObject({ version: migrations.length })
    await stint.close()
  })
})

describe('a schema of another name', () => {
  test('a schema with a name that needs quoting works beside the default one', async () => {
    const stint = new Stint({ connection: db.url })
    const other = clientFor('select')
    await Promise.all([stint.migrate(), other.migrate()])
    const { id } = await other.enqueue(job, { n: 1 }, { unique: { key: 'a' }, search: { a: 'b' } })
    expect(await other.get(id)).toMatchObject({ input: { n: 1 }, state: 'ready' })
    expect(await stint.get(id)).toBeUndefined()
    await other.update(job, id, { n: 2 })
    expect(await other.cancel(id)).toMatchObject({ state: 'cancelled', input: { n: 2 } })
    expect((await other.list()).jobs).toHaveLength(1)
    await Promise.all([stint.close(), other.close()])
  })

  test('a schema of another name has exactly the same tables', async () => {
    const stint = clientFor('twin')
    await stint.migrate()
    await stint.close()
    const [ours, twin] = await Promise.all([describeSchema(db.url, 'stint'), describeSchema(db.url, 'twin')])
    expect(twin.replaceAll('"twin"', 'stint').replaceAll('twin', 'stint')).toBe(ours)
  })

  test.each(['twin', 'select', 'job', 'a'])(
    'the schema %s has the same objects with the same names',
    async (schema) => {
      const stint = clientFor(schema)
      await stint.migrate()
      await stint.close()
      expect(await describeObjects(db.url, schema)).toEqual(expectedObjects)
    },
  )

  test.each(['Upper', 'a b', 'a"b', "a';--", 'pg_mine', '', 'a'.repeat(55), 'ü'])(
    'the schema name %j is refused',
    (schema) => {
      expect(() => new Stint({ schema })).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    },
  )
})

test('the death of a worker is described without memory where no heartbeat reported it', async () => {
  const stint = clientFor('stint')
  await stint.migrate()
  await stint.close()
  const rows = await db.query(
    `insert into stint.worker (id, lease_until, rss_bytes, about)
     select gen_random_uuid(), now(), seen, '{}' from unnest(array[null, 209715200]) as seen returning id`,
  )
  const told = await Promise.all(rows.map(({ id }) => db.query('select stint.death_of($1) as story', [id])))
  expect(told.flat()).toEqual([
    { story: 'its lease ran out' },
    { story: 'its lease ran out, with 200 MB of memory at its last heartbeat' },
  ])
})

test('every migration file is listed, numbered without a gap, and names the lock it takes', async () => {
  const files = (await readdir(join(folder, 'migrations'))).filter((name) => name.endsWith('.sql')).sort()
  expect(migrations.map(({ script }) => script.name)).toEqual(
    files.map((name) => `schema/migrations/${name}`),
  )
  for (const [index, name] of files.entries()) {
    expect(name).toMatch(new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z_]+\\.sql$`))
    const text = await readFile(join(folder, 'migrations', name), 'utf8')
    expect(text, name).toMatch(/^-- Lock: /m)
    expect(text, name).toMatch(/^-- breaking: (no|yes)$/m)
  }
})

test('schema.sql matches the migrations (npm run schema:dump)', async () => {
  const stint = new Stint({ connection: db.url })
  await stint.migrate()
  await stint.close()
  expect(await describeSchema(db.url, 'stint')).toBe(await readFile(join(folder, 'schema.sql'), 'utf8'))
})

test('expected-objects.ts matches the migrations (npm run schema:dump)', async () => {
  const stint = new Stint({ connection: db.url })
  await stint.migrate()
  await stint.close()
  expect(await describeObjects(db.url, 'stint')).toEqual(expectedObjects)
})
