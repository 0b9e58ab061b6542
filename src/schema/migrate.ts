import { isStintError, StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { classify, isSchemaMissing } from '../db/classify.ts'
import type { Database } from '../db/database.ts'
import { render, run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { appliedSql } from './applied.sql.ts'
import { migrations } from './migrations.ts'
import type { Migration } from './migrations.ts'
import { recordSql } from './record.sql.ts'
import { rolesScript } from './roles.sql.ts'

export interface MigrateOptions {
  /** Also make the five Postgres roles and their grants; needs a login that may create roles. @default false */
  roles?: boolean | undefined
}

export interface AppliedMigration {
  version: number
  name: string
  appliedAt: Date
}

export interface MigrateResult {
  /** The version the schema is at now. */
  version: number
  /** What this call applied, in order; empty when there was nothing to do. */
  applied: string[]
}

/**
 * Brings the schema to this version of the code.
 *
 * Each migration runs in a transaction of its own that holds one advisory lock, checks whether another process applied
 * it meanwhile, and records it: any number of processes may call this at once, and a crash leaves whole migrations. A
 * statement waits at most three seconds for a lock and is then tried again, so that a long reader delays the migration
 * and not all statements that queue behind it.
 */
export async function migrate(
  db: Database,
  { roles = false }: MigrateOptions = {},
  known: readonly Migration[] = migrations,
): Promise<MigrateResult> {
  await underLock(db, prepareSchema)
  const applied: string[] = []
  for (const migration of known) {
    if (await underLock(db, (tx) => applyOnce(tx, migration, known))) applied.push(migration.script.name)
  }
  if (roles || (await underLock(db, isRolesStepDue))) await underLock(db, applyRoles)
  return { version: known.length, applied }
}

export interface MigrationStatus {
  applied: AppliedMigration[]
  /** The names of migrations that are not applied yet, in order. */
  pending: string[]
}

/** Which migrations have been applied, and which are pending. */
export async function migrationStatus(db: Queryable): Promise<MigrationStatus> {
  const applied = await appliedMigrations(db)
  const done = new Set(applied.map(({ version }) => version))
  return {
    applied,
    pending: migrations.filter(({ version }) => !done.has(version)).map(({ script }) => script.name),
  }
}

/** Checks that this code and the schema fit; if they do not, throws an error that says what to do. */
export async function checkSchema(db: Queryable): Promise<void> {
  const { applied, pending } = await migrationStatus(db)
  refuseUnknown(db.schema, applied, migrations)
  if (pending.length > 0) {
    throw new StintError(
      'schema-missing',
      `The schema '${db.schema}' is missing or behind (not applied: ${pending.join(', ')}): run \`stint migrate\`.`,
    )
  }
}

/** The first applied migration whose name is not that of ours with the same version: other code made this schema. */
export function firstForeign(
  applied: readonly AppliedMigration[],
  known: readonly Migration[] = migrations,
): AppliedMigration | undefined {
  return applied.find(({ version, name }) => {
    const own = known[version - 1]
    return own !== undefined && own.script.name !== name
  })
}

/** In a schema that other code has made or changed, a column may have another meaning: this code refuses it. */
function refuseUnknown(
  schema: string,
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): void {
  const foreign = firstForeign(applied, known)
  if (foreign !== undefined) {
    const { version, name } = foreign
    throw new StintError(
      'schema-unknown',
      `The schema '${schema}' was made by an unreleased version of stint: its migration ${version} is ${name}, ` +
        `in this version it is ${known[version - 1]?.script.name}. Nothing was changed. ` +
        'Drop the schema, with all its jobs, and run `stint migrate`; or use another `schema`.',
    )
  }
  const newest = applied.at(-1)
  if (newest === undefined || newest.version <= known.length) return
  throw new StintError(
    'schema-too-new',
    `The schema '${schema}' is at version ${newest.version} (${newest.name}), but this code supports at most ${known.length}. ` +
      'A newer release of Stint migrated the schema. Upgrade Stint here.',
  )
}

async function appliedMigrations(db: Queryable): Promise<AppliedMigration[]> {
  type Row = { version: number; name: string; applied_at: Date }
  try {
    return await run(db, appliedSql, {}, (row: Row) => ({
      version: row.version,
      name: row.name,
      appliedAt: row.applied_at,
    }))
  } catch (error) {
    if (isSchemaMissing(error)) return []
    throw error
  }
}

async function prepareSchema(tx: Queryable): Promise<void> {
  const [schema] = await tx.query('select 1 from pg_namespace where nspname = $1', [tx.schema])
  // Checked first: a login without the right to create schemas may use a schema that was made for it.
  if (schema === undefined) await tx.query(`create schema "${tx.schema}"`, [])
  await tx.query(
    `create table if not exists "${tx.schema}".migration (
       version integer primary key, name text not null, applied_at timestamptz not null default now())`,
    [],
  )
}

/** True if this call applied it. */
async function applyOnce(
  tx: Queryable,
  { version, script }: Migration,
  known: readonly Migration[],
): Promise<boolean> {
  const applied = await appliedMigrations(tx)
  refuseUnknown(tx.schema, applied, known)
  if (applied.some((done) => done.version === version)) return false
  await tx.query(render(script, tx.schema), [])
  await run(tx, recordSql, { version, name: script.name }, () => undefined)
  return true
}

async function applyRoles(tx: Queryable): Promise<void> {
  await tx.query(render(rolesScript, tx.schema), [])
}

/** Whether the roles are used here and a new object does not belong to them yet. */
async function isRolesStepDue(tx: Queryable): Promise<boolean> {
  // By the schema's owner, not by the existence of the roles: roles belong to the whole cluster.
  const strays = await tx.query(
    `select 1
       from pg_namespace n
       join pg_roles r on r.oid = n.nspowner and r.rolname = $2
      where n.nspname = $1
        and (exists (select from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v') and c.relowner <> r.oid)
          or exists (select from pg_proc p where p.pronamespace = n.oid and p.proowner <> r.oid))`,
    [tx.schema, `${tx.schema}_owner`],
  )
  return strays.length > 0
}

const patienceMs = 60_000
/** Longer than any one statement of ours needs, shorter than for ever. */
const deadlineMs = 600_000

/** Runs one step under the lock that all migrating processes share; repeats it if another session held a lock. */
async function underLock<Result>(db: Database, step: (tx: Queryable) => Promise<Result>): Promise<Result> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    try {
      return await db.transaction(
        async (tx) => {
          await tx.query(`select pg_advisory_xact_lock(hashtextextended('stint.migrate ' || $1, 0))`, [
            tx.schema,
          ])
          await tx.query(`set local lock_timeout = '3s'`, [])
          await tx.query(`set local client_min_messages = 'warning'`, [])
          return step(tx)
        },
        { deadlineMs },
      )
    } catch (error) {
      if (classify(error) !== 'again' || performance.now() > giveUpAt) throw failed(error)
    }
  }
}

function failed(error: unknown): unknown {
  if (isStintError(error)) return error
  const message = messageOf(error)
  switch (classify(error)) {
    case 'wait':
      return new StintError(
        'database-unavailable',
        `The database could not be reached: ${message}. Nothing was changed.`,
        { cause: error },
      )
    case 'unknown':
      return new StintError(
        'migration-failed',
        `The connection broke during a migration: ${message}. Run it again: it continues after the last applied migration.`,
        { cause: error },
      )
    case 'again':
    case 'value':
    case 'partition':
    case 'duplicate':
    case 'broken':
    case 'corrupt':
      return new StintError(
        'migration-failed',
        `Migration failed and was rolled back: ${message}. Earlier migrations stay applied. Fix the cause, then run it again.`,
        { cause: error },
      )
  }
}
