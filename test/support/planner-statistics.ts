import pg from 'pg'

/**
 * The statistics that ANALYZE wrote when the queue was in another state, by the name of that state; each can be restored.
 */
export async function collectStaleStatistics(db: pg.Client): Promise<Record<string, () => Promise<void>>> {
  await db.query('create schema kept')
  const stale: Record<string, () => Promise<void>> = {}
  const lives: Record<string, string> = {
    'all scheduled': `'scheduled', null, null, null`,
    'all running': `'running', null, gen_random_uuid(), gen_random_uuid()`,
    'all ready': `'ready', null, null, null`,
    'all keyed': `'ready', 'key-' || n, null, null`,
  }
  for (const [life, columns] of Object.entries(lives)) {
    await db.query(`
      insert into stint.job (id, queue, kind, state, key, worker_id, lease_id)
      select gen_random_uuid(), 'bulk', 'bulk.work', ${columns}
        from generate_series(1, 20000) as n`)
    await db.query('vacuum (analyze) stint.job')
    stale[life] = await keepStatistics(db, life)
    await db.query('delete from stint.job')
  }
  await db.query('vacuum (analyze) stint.job')
  stale['drained'] = await keepStatistics(db, 'drained')
  return stale
}

const jobRelations = `(select 'stint.job'::regclass::oid union all
                       select indexrelid from pg_index where indrelid = 'stint.job'::regclass)`
const statisticColumns = [
  'staattnum, stainherit, stanullfrac, stawidth, stadistinct',
  ...['stakind', 'staop', 'stacoll', 'stanumbers', 'stavalues'].flatMap((name) =>
    [1, 2, 3, 4, 5].map((n) => `${name}${String(n)}`),
  ),
].join(', ')

/** Saves the current statistics of stint.job; the result restores them. */
async function keepStatistics(db: pg.Client, name: string): Promise<() => Promise<void>> {
  const keeper = `kept.${pg.escapeIdentifier(name)}`
  await db.query(`create table ${keeper} ()`)
  await copyStatistics(db, 'stint.job', keeper)
  const { rows } = await db.query<{ oid: number; relpages: number; reltuples: number }>(
    `select oid, relpages, reltuples from pg_class where oid in ${jobRelations}`,
  )
  return async () => {
    await forgetStatistics(db)
    await copyStatistics(db, keeper, 'stint.job')
    for (const { oid, relpages, reltuples } of rows)
      await db.query('update pg_class set relpages = $2, reltuples = $3 where oid = $1', [
        oid,
        relpages,
        reltuples,
      ])
  }
}

async function copyStatistics(db: pg.Client, from: string, to: string): Promise<void> {
  await db.query(
    `insert into pg_statistic (starelid, ${statisticColumns})
     select $2::regclass, ${statisticColumns} from pg_statistic where starelid = $1::regclass`,
    [from, to],
  )
}

/** As if no table had ever been analyzed or vacuumed. */
export async function forgetStatistics(db: pg.Client): Promise<void> {
  await db.query('drop table if exists forgotten')
  await db.query(`
    create temporary table forgotten as
    select oid from pg_class where relnamespace = 'stint'::regnamespace and relkind in ('r', 'p')`)
  await db.query('delete from pg_statistic where starelid in (select oid from forgotten)')
  await db.query(`
    update pg_class set relpages = 0, reltuples = -1
     where oid in (select oid from forgotten
                   union all
                   select indexrelid from pg_index where indrelid in (select oid from forgotten))`)
}

/** Analyzes all tables as they are. */
export async function collectStatistics(db: pg.Client): Promise<void> {
  await db.query('analyze')
}
