import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { deadRowsSql } from './dead-rows.sql.ts'

interface Table {
  name: string
  dead: number
  live: number
  begins: number
  lastMs: number | null
}

export const deadRows: Check = async (db, { deadRows: least, deadTimes: times }) => {
  const found = await run(db, deadRowsSql, { schema: db.schema, least, times }, (row: Table) => row)
  if (found.length === 0)
    return {
      level: 'ok',
      title: 'Dead rows do not pile up',
      detail: `By the server's statistics, no table has more than ${times} times the dead rows at which autovacuum starts.`,
    }
  const said = found.map(({ name, dead, live, begins, lastMs }) => {
    const last = lastMs === null ? 'not vacuumed yet' : `vacuumed ${span(lastMs)} ago`
    return `${name} has ${count(dead)} dead rows beside ${count(live)} live ones (autovacuum starts at ${count(begins)}; ${last})`
  })
  return {
    level: 'warn',
    title: `Dead rows pile up in ${listing(found.map(({ name }) => name))}`,
    detail: `${listing(said, '; ')}. Either a session holds an old snapshot, or autovacuum cannot keep up. Every claim has to skip these rows.`,
    fix: found.map(({ name }) => `vacuum "${db.schema}"."${name}";`).join('\n'),
  }
}

function count(rows: number): string {
  return Math.round(rows).toLocaleString('en-US')
}
