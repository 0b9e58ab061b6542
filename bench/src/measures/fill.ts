import pg from 'pg'
import type { Session } from '../systems/system.ts'
import type { Measure, Sample } from './order.ts'

// Small enough that a batch ends well inside the server's statement_timeout.
const batch = 250_000

/**
 * Brings stint.job to `rows` waiting jobs by copying one that Stint itself enqueued.
 *
 * The columns are read from the catalog, so that the copies are what the current schema holds and this file
 * knows none of it but `id` and the times, which must be each row's own.
 */
export async function fill(
  session: Session,
  { rows }: Extract<Measure, { type: 'fill' }>,
  url: string,
): Promise<Sample> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const startedAt = performance.now()
  try {
    let stored = await session.count()
    if (stored === 0 && rows > 0) {
      await session.enqueueOne({ n: 0 })
      stored = 1
    }
    const { into, values } = await copiedColumns(client)
    while (stored < rows) {
      const count = Math.min(batch, rows - stored)
      // Oldest first and ending now, as a queue that grew would look.
      await client.query(
        `insert into stint.job (${into})
         select ${values}
           from (select * from stint.job limit 1) as original
          cross join generate_series(1, $1::int) as i`,
        [count],
      )
      stored += count
    }
    // Now rather than whenever autovacuum wakes up, which would be in the middle of a measurement.
    await client.query('vacuum (analyze) stint.job')
    const seconds = (performance.now() - startedAt) / 1000
    return { perSecond: rows / seconds, count: rows, seconds, stored: await session.count() }
  } finally {
    await client.end()
  }
}

async function copiedColumns(client: pg.Client): Promise<{ into: string; values: string }> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name
       from pg_attribute
      where attrelid = 'stint.job'::regclass
        and attnum > 0
        and not attisdropped
        and attidentity = ''
        and attgenerated = ''
      order by attnum`,
  )
  const values = rows.map(({ name }) => {
    if (name === 'id') return 'uuidv7()'
    if (name === 'run_at' || name === 'created_at') return 'clock_timestamp()'
    return `original.${pg.escapeIdentifier(name)}`
  })
  return { into: rows.map(({ name }) => pg.escapeIdentifier(name)).join(', '), values: values.join(', ') }
}
