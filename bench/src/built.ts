import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const dist = new URL('../../dist/', import.meta.url)

/** Loads a built module of Stint. The caller names the type, because bench/ must type-check before dist/ exists. */
export async function loadBuilt<Module>(path: string): Promise<Module> {
  const url = new URL(path, dist)
  if (!existsSync(fileURLToPath(url))) throw new Error('dist/ is missing: npm run build')
  return (await import(url.href)) as Module
}

export interface Queryable {
  readonly schema: string
  query(text: string, values: readonly unknown[]): Promise<readonly unknown[]>
}

interface BuiltDatabase extends Queryable {
  close(): Promise<void>
}

interface DatabaseModule {
  Database: new (config: {
    url: string
    schema: string
    poolSize: number
    deadlineMs: number
    applicationName: string
  }) => BuiltDatabase
}

/** A connection like that of a worker. */
export async function openDatabase(url: string): Promise<BuiltDatabase> {
  const { Database } = await loadBuilt<DatabaseModule>('db/database.js')
  const settings = { schema: 'stint', poolSize: 1, deadlineMs: 60_000, applicationName: 'bench gauges' }
  return new Database({ url, ...settings })
}

export interface Gauges {
  refresh(db: Queryable): Promise<void>
}

/** The object with which a leader refreshes the gauges. */
export async function newGauges(): Promise<Gauges> {
  const { Gauges } = await loadBuilt<{ Gauges: new () => Gauges }>('stats/write/gauges.js')
  return new Gauges()
}
