import pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { countRows } from './count-rows.ts'
import { installedVersion } from './installed.ts'
import type { Input, PreparedWorker, Session, System, Tuning, Work } from './system.ts'
import { bulkTunings, poolTunings } from './system.ts'

const queue = 'bench'

export const pgBoss: System = {
  name: 'pg-boss',
  version: installedVersion('pg-boss'),
  store: 'postgres',
  settings: {
    enqueue:
      '`send`, `insert` without `returnId`, `send` with `{ db }`. Queue of policy `standard` with `notify` off ' +
      '(both the defaults: an insert then is one statement and no NOTIFY), `supervise` and `schedule` off so that ' +
      'no upkeep runs beside the measurement, pool size tried. An adapter of ' +
      'our own that prepares its insert is faster, but no setting that it documents (`--only pg-boss-prepared`).',
    work:
      '`work` with `batchSize`, `localConcurrency` (loops that fetch) and `burstWhenBatchFull`, so that it fetches ' +
      'again at once; sizes tried that give its handler 100 jobs at a time, as many as the others may run. With more ' +
      '(`--only pg-boss-wide`) it is faster. For ' +
      'latency a queue with `notify` and `useListenNotify`, and `pollingIntervalSeconds` at its minimum. `supervise` ' +
      'and `schedule` off. Finished jobs are kept in their table, as by default. A limit by key is its ' +
      '`groupConcurrency`, which it documents as not exact.',
  },
  tunings: {
    single: poolTunings,
    bulk: bulkTunings,
    // One fetch goes to the handler as a whole: more than 100 jobs would be another workload.
    drain: [
      { batch: 100, pollers: 1 },
      { batch: 50, pollers: 2 },
      { batch: 25, pollers: 4 },
    ],
    latency: [
      { notify: true, batch: 10, pollers: 1 },
      { notify: true, batch: 1, pollers: 10 },
      { notify: true, batch: 5, pollers: 2 },
    ],
  },
  hasInTx: true,
  async setup(url, tuning) {
    const { PgBoss } = await import('pg-boss')
    const max = tuning.connections ?? tuning.inFlight ?? 1
    const boss = new PgBoss({ connectionString: url, max, supervise: false, schedule: false })
    return open(url, boss, plain, tuning)
  },
  prepareWorker,
}

/** Not a documented setting, but one that a user can find: so it can be requested by name. */
export const pgBossPrepared: System = {
  ...pgBoss,
  name: 'pg-boss-prepared',
  settings: {
    enqueue:
      'As `pg-boss`, but on a `db` adapter of our own that sends its insert as a named prepared statement, which ' +
      'saves parsing and planning it each time.',
    work: 'As `pg-boss`.',
  },
  async setup(url, tuning) {
    const { connections, inFlight } = tuning
    const { PgBoss } = await import('pg-boss')
    const pool = new pg.Pool({ connectionString: url, max: connections ?? inFlight ?? 1 })
    const db = { executeSql: (text: string, values?: unknown[]) => pool.query(prepared(text, values)) }
    const session = await open(url, new PgBoss({ db, supervise: false, schedule: false }), prepared, tuning)
    return {
      ...session,
      async teardown() {
        await session.teardown()
        await pool.end()
      },
    }
  },
}

/** Its handler gets far more than 100 jobs at a time: a choice where that does no harm. */
export const pgBossWide: System = {
  ...pgBoss,
  name: 'pg-boss-wide',
  settings: {
    enqueue: 'As `pg-boss`.',
    work: 'As `pg-boss`, with up to 8,000 jobs at a time in its handlers.',
  },
  tunings: {
    ...pgBoss.tunings,
    drain: [
      { batch: 500, pollers: 1 },
      { batch: 500, pollers: 2 },
      { batch: 1_000, pollers: 4 },
      { batch: 2_000, pollers: 4 },
    ],
  },
}

async function open(
  url: string,
  boss: PgBoss,
  toQuery: typeof plain,
  { notify = false }: Tuning,
): Promise<Session> {
  boss.on('error', (error) => {
    console.error('pg-boss:', error.message)
  })
  await boss.start()
  await boss.createQueue(queue, { notify })
  return {
    enqueueOne: (input) => boss.send(queue, input),
    enqueueBulk: (inputs) =>
      boss.insert(
        queue,
        inputs.map((input) => ({ data: input })),
      ),
    enqueueKeyed: (inputs, keys) =>
      boss.insert(
        queue,
        inputs.map((input) => ({ data: input, group: { id: `key-${input.n % keys}` } })),
      ),
    enqueueInTx: (client, input) =>
      boss.send(queue, input, { db: { executeSql: (text, values) => client.query(toQuery(text, values)) } }),
    count: () => countRows(url, 'pgboss.job'),
    unfinished: () => countRows(url, "pgboss.job where state <> 'completed'"),
    finished: () => countRows(url, "pgboss.job where state = 'completed'"),
    teardown: () => boss.stop({ graceful: false }),
  }
}

async function prepareWorker(
  url: string,
  { batch = 1, pollers = 1, notify = false }: Tuning,
  { keyLimit, run }: Work,
): Promise<PreparedWorker> {
  const { PgBoss } = await import('pg-boss')
  // A connection for each loop and one more, so that none waits for another's.
  const max = Math.max(10, pollers + 1)
  const upkeep = { supervise: false, schedule: false }
  const boss = new PgBoss({ connectionString: url, max, useListenNotify: notify, ...upkeep })
  boss.on('error', (error) => {
    console.error('pg-boss:', error.message)
  })
  await boss.start()
  const options = {
    batchSize: batch,
    localConcurrency: pollers,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
    ...(keyLimit !== undefined && { groupConcurrency: keyLimit }),
  }
  return {
    start: () =>
      boss.work<Input>(queue, options, (jobs) => {
        for (const { data } of jobs) run(data.n)
        return Promise.resolve()
      }),
    stop: () => boss.stop({ graceful: true }),
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
