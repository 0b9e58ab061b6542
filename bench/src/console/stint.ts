import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/*
 * What is asked here of Stint, as built. Written out, because bench/ must type-check before dist/ exists.
 */
interface Served {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

interface Client {
  migrate(): Promise<unknown>
  schedules: { set(schedule: unknown): Promise<unknown> }
  close(): Promise<void>
}

interface ClientModule {
  Stint: new (options: { connection: string }) => Client
  defineJob(contract: { kind: string; queue: string }): unknown
  defineSchedule(definition: { name: string; job: unknown; every: string; input: object }): unknown
}

interface ServerModule {
  createConsole(options: { connection: string; insecure: true }): Served
}

interface Refresher {
  refresh(db: unknown): Promise<void>
}

interface GaugesModule {
  Gauges: new () => Refresher
}

interface DatabaseModule {
  Database: new (config: {
    url: string
    schema: string
    poolSize: number
    deadlineMs: number
    applicationName: string
  }) => { close(): Promise<void> }
}

const dist = new URL('../../../dist/', import.meta.url)

async function load<Module>(path: string): Promise<Module> {
  const url = new URL(path, dist)
  if (!existsSync(fileURLToPath(url))) throw new Error('dist/ is missing: npm run build')
  return (await import(url.href)) as Module
}

/** The package, and of its insides what a worker does for the console. */
export async function loadStint(): Promise<{
  client: ClientModule
  server: ServerModule
  refreshGauges: (url: string) => Promise<void>
}> {
  const [client, server, { Gauges }, { Database }] = await Promise.all([
    load<ClientModule>('entry/index.js'),
    load<ServerModule>('entry/server.js'),
    load<GaugesModule>('numbers/gauges.js'),
    load<DatabaseModule>('db/database.js'),
  ])
  return {
    ...{ client, server },
    refreshGauges: async (url) => {
      const settings = { schema: 'stint', poolSize: 1, deadlineMs: 60_000, applicationName: 'bench gauges' }
      const db = new Database({ url, ...settings })
      await new Gauges().refresh(db)
      await db.close()
    },
  }
}

export type { Served }
