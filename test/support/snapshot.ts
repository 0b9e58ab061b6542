import type pg from 'pg'
import { connectTo } from './database.ts'

/** A session that has read a table and holds its snapshot of the database until it is rolled back. */
export async function holdSnapshot(url: string, table: string): Promise<pg.Client> {
  const reader = await connectTo(url)
  await reader.query('begin isolation level repeatable read')
  await reader.query(`select count(*) from ${table}`)
  return reader
}
