import pg from 'pg'

/** Questions about the PostgreSQL behind the system, over a connection of its own. */
export interface Database {
  /** Finishes the work of the filling: statistics are fresh, pages are written. */
  settle(): Promise<void>
  /** Bytes written to the log since the server began, by any session; only one system is at work. */
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
