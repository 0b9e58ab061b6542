import pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { countRows } from './count-rows.ts'
import { installedVersion } from './installed.ts'
import type { Session, System } from './system.ts'
import { bulkTunings, poolTunings } from './system.ts'

const queue = 'bench'

export const pgBoss: System = {
  name: 'pg-boss',
  version: installedVersion('pg-boss'),
  store: 'postgres',
  settings:
    '`send`, `insert` without `returnId`, `send` with `{ db }`. Queue of policy `standard` with `notify` off ' +
    '(both the defaults: an insert then is one statement and no NOTIFY), `supervise` and `schedule` off so that ' +
    'no upkeep runs beside the measurement, pool size tried. An adapter of ' +
    'our own that prepares its insert is faster, but no setting that it documents (`--only pg-boss-prepared`).',
  tunings: { single: poolTunings, bulk: bulkTunings },
  hasInTx: true,
  async setup(url, { connections, inFlight }) {
    const { PgBoss } = await import('pg-boss')
    const max = connections ?? inFlight ?? 1
    const boss = new PgBoss({ connectionString: url, max, supervise: false, schedule: false })
    return open(url, boss, plain)
  },
}

/** Not a documented setting, but one that a user who looks can find: so it can be asked for by name. */
export const pgBossPrepared: System = {
  ...pgBoss,
  name: 'pg-boss-prepared',
  settings:
    'As `pg-boss`, but on a `db` adapter of our own that sends its insert as a named prepared statement, which ' +
    'saves parsing and planning it each time.',
  async setup(url, { connections, inFlight }) {
    const { PgBoss } = await import('pg-boss')
    const pool = new pg.Pool({ connectionString: url, max: connections ?? inFlight ?? 1 })
    const db = { executeSql: (text: string, values?: unknown[]) => pool.query(prepared(text, values)) }
    const session = await open(url, new PgBoss({ db, supervise: false, schedule: false }), prepared)
    return {
      ...session,
      async teardown() {
        await session.teardown()
        await pool.end()
      },
    }
  },
}

async function open(url: string, boss: PgBoss, toQuery: typeof plain): Promise<Session> {
  boss.on('error', (error) => console.error('pg-boss:', error.message))
  await boss.start()
  await boss.createQueue(queue)
  return {
    enqueueOne: (input) => boss.send(queue, input),
    enqueueBulk: (inputs) =>
      boss.insert(
        queue,
        inputs.map((input) => ({ data: input })),
      ),
    enqueueInTx: (client, input) =>
      boss.send(queue, input, { db: { executeSql: (text, values) => client.query(toQuery(text, values)) } }),
    count: () => countRows(url, 'pgboss.job'),
    teardown: () => boss.stop({ graceful: false }),
  }
}

function plain(text: string, values: unknown[] = []): pg.QueryConfig {
  return { text, values }
}

/** Only the insert: among the rest are texts of several statements, which cannot be prepared. */
function prepared(text: string, values: unknown[] = []): pg.QueryConfig {
  const isInsert = values.length === 1 && text.includes('json_to_recordset($1')
  return isInsert ? { name: 'pg-boss-insert', text, values } : { text, values }
}
