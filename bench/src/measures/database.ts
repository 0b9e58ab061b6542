import pg from 'pg'

/** What a measurement asks of the PostgreSQL behind the system, over a connection of its own. */
export interface Database {
  /** Leaves nothing of the filling to be done later: statistics are fresh, pages are written. */
  settle(): Promise<void>
  /** Written to the log since the server began, by whomever; only one system is at work. */
  walBytes(): Promise<number>
  close(): Promise<void>
}

export async function openDatabase(url: string): Promise<Database> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    async settle() {
      await client.query('vacuum (analyze)')
      await client.query('checkpoint')
    },
    async walBytes() {
      const { rows } = await client.query<{ bytes: string }>(
        `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`,
      )
      return Number(rows[0]?.bytes)
    },
    close: () => client.end(),
  }
}
