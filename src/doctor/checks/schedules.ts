import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { schedulesSql } from './schedules.sql.ts'

interface Late {
  name: string
  failures: number
  lateMs: number | null
}

export const schedules: Check = async (db, { lateMs }) => {
  const found = await run(db, schedulesSql, { lateMs }, (row: Late) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'Schedules fire on time',
      detail: `No schedule is more than ${span(lateMs)} late, and none fails.`,
    }
  const said = found.map((one) =>
    one.failures > 0
      ? `${one.name} has failed ${one.failures} times`
      : `${one.name} should have fired ${span(one.lateMs ?? 0)} ago`,
  )
  return {
    level: 'warn',
    title: `${found.length === 1 ? 'A schedule is' : `${found.length} schedules are`} late or failing`,
    detail: `${listing(said, '; ')}. Any live worker fires schedules that are due. Either no worker is alive, no worker has the code that makes the input, or the database refuses.`,
    fix: `stint schedule get ${first.name}`,
  }
}
