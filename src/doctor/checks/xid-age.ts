import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { xidAgeSql } from './xid-age.sql.ts'

export const xidAge: Check = async (db, { xidWarn, xidFail }) => {
  type Age = { xids: number; multiXids: number; freezesAt: number }
  const [age] = await run(db, xidAgeSql, {}, (row: Age) => row)
  if (age === undefined)
    return { level: 'unknown', title: 'The age of the oldest transaction id is unknown', detail: '' }
  const oldest = Math.max(age.xids, age.multiXids)
  const title = `The oldest transaction id is ${millions(oldest)} transactions old`
  if (oldest < xidWarn)
    return {
      level: 'ok',
      title,
      detail: `Autovacuum starts to freeze at ${millions(age.freezesAt)}; the server stops writing at 2,100 million.`,
    }
  return {
    level: oldest < xidFail ? 'warn' : 'fail',
    title,
    detail: `Autovacuum should have frozen it at ${millions(age.freezesAt)}: a snapshot, a prepared transaction or a replication slot holds it back, or autovacuum is too slow. At 2,100 million the server stops writing.`,
    fix: 'vacuum (freeze, verbose);',
  }
}

function millions(xids: number): string {
  return xids < 1_000_000
    ? 'less than a million'
    : `${Math.round(xids / 1_000_000).toLocaleString('en-US')} million`
}
