import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { migrationStatus } from '../../../schema/migrate.ts'
import { serverSql } from './server.sql.ts'

/** The database and the tables in it. */
export interface SystemView {
  /** Of PostgreSQL. */
  version: string | null
  /** The last migration that is applied; 0 if none is. */
  applied: number
  /** The names of migrations that are not applied yet. */
  pending: string[]
  asOf: Date
}

export async function readSystem(db: Queryable): Promise<SystemView> {
  const { applied, pending } = await migrationStatus(db)
  const [server] = await run(db, serverSql, {}, (row: { version: string; asOf: Date }) => row)
  return {
    version: server?.version ?? null,
    applied: applied.at(-1)?.version ?? 0,
    pending,
    asOf: server?.asOf ?? new Date(),
  }
}
