import pg from 'pg'

/** Asks the database over a connection of its own, so that no library can answer from memory. `from` may filter. */
export async function countRows(url: string, from: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ count: string }>(`select count(*) from ${from}`)
    return Number(rows[0]?.count)
  } finally {
    await client.end()
  }
}
