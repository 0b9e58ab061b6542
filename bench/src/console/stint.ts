import { loadBuilt, newGauges, openDatabase } from '../built.ts'

/*
 * The parts of Stint that are used here.
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

/** The package, and the internal parts of a worker that the console depends on. */
export async function loadStint(): Promise<{
  client: ClientModule
  server: ServerModule
  refreshGauges: (url: string) => Promise<void>
}> {
  const [client, server] = await Promise.all([
    loadBuilt<ClientModule>('index.js'),
    loadBuilt<ServerModule>('server.js'),
  ])
  return {
    client,
    server,
    refreshGauges: async (url) => {
      const db = await openDatabase(url)
      await (await newGauges()).refresh(db)
      await db.close()
    },
  }
}

export type { Served }
