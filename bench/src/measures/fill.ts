import pg from 'pg'
import { now } from '../clock.ts'
import type { Session } from '../systems/system.ts'
import { untilRun } from './drain.ts'
import type { Measure, Order, Sample } from './order.ts'
import { endWorkers, startWorkers } from './worker-process.ts'

// Small enough that a batch ends well inside the server's statement_timeout.
const batch = 250_000

const times = {
  'stint.job': ['created_at', 'run_at'],
  'stint.finished': ['created_at', 'run_at', 'started_at', 'finished_at'],
}

type Fill = Extract<Measure, { type: 'fill' }>

/**
 * Fills a table of Stint up to so many rows by copying one that Stint itself wrote.
 *
 * The columns are read from the catalog, so that the copies fit the current schema. This file knows only `id` and the
 * times, which must differ by row.
 */
export async function fill(session: Session, { table, rows }: Fill, order: Order): Promise<Sample> {
  const client = new pg.Client({ connectionString: order.url })
  await client.connect()
  const startedAt = performance.now()
  const count = async (): Promise<number> =>
    table === 'stint.job' ? session.count() : ((await session.finished?.()) ?? 0)
  try {
    let stored = await count()
    if (stored === 0 && rows > 0) {
      await session.enqueueOne({ n: 0 })
      if (table === 'stint.finished') await finishOne(order)
      stored = 1
    }
    const { into, values } = await copiedColumns(client, table)
    while (stored < rows) {
      const copies = Math.min(batch, rows - stored)
      // Oldest first and ending now, as in a queue that grew.
      await client.query(
        `insert into ${table} (${into})
         select ${values}
           from (select * from ${table} limit 1) as original
          cross join generate_series(1, $1::int) as i`,
        [copies],
      )
      stored += copies
    }
    // Now and not when autovacuum starts, which would be in the middle of a measurement.
    await client.query(`vacuum (analyze) ${table}`)
    const seconds = (performance.now() - startedAt) / 1000
    return { figure: rows / seconds, count: rows, seconds, stored: await count() }
  } finally {
    await client.end()
  }
}

/** Running a job is the only way to get a finished job as Stint writes it. */
async function finishOne(order: Order): Promise<void> {
  const workers = await startWorkers({ ...order, concurrency: 1, note: { type: 'starts' } }, 1)
  try {
    await untilRun(workers, { jobs: 1, endsAt: now() + 30_000 })
    await workers[0]?.stop()
  } finally {
    await endWorkers(workers)
  }
}

async function copiedColumns(
  client: pg.Client,
  table: Fill['table'],
): Promise<{ into: string; values: string }> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name
       from pg_attribute
      where attrelid = $1::regclass
        and attnum > 0
        and not attisdropped
        and attidentity = ''
        and attgenerated = ''
      order by attnum`,
    [table],
  )
  const values = rows.map(({ name }) => {
    if (name === 'id') return 'uuidv7()'
    if (times[table].includes(name)) return 'clock_timestamp()'
    return `original.${pg.escapeIdentifier(name)}`
  })
  return { into: rows.map(({ name }) => pg.escapeIdentifier(name)).join(', '), values: values.join(', ') }
}
