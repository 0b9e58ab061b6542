import type { TestDatabase } from './database.ts'

/** Drops the checks of tables and domains: rows may be older than a check, or written by the owner of the tables. */
export async function dropChecks(db: TestDatabase): Promise<void> {
  const checks = await db.query<{ statement: string }>(
    `select case when contypid <> 0 then format('alter domain %s drop constraint %I', contypid::regtype, conname)
                 else format('alter table %s drop constraint %I', conrelid::regclass, conname) end as statement
       from pg_constraint
      where contype = 'c' and connamespace = 'stint'::regnamespace and coninhcount = 0`,
  )
  for (const { statement } of checks) await db.query(statement)
}

/** Inserts a row as the owner of the tables does: each value is an SQL expression. */
export async function plant(
  db: TestDatabase,
  table: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const columns = Object.keys(values).join(', ')
  await db.query(`insert into stint.${table} (${columns}) values (${Object.values(values).join(', ')})`)
}
