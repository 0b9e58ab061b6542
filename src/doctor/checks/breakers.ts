import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { breakersSql } from './breakers.sql.ts'

interface Open {
  name: string
  state: string
  isForced: boolean
  openMs: number
}

export const breakers: Check = async (db, { breakerOpenMs }) => {
  const found = await run(db, breakersSql, { openMs: breakerOpenMs }, (row: Open) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'No breaker is open for long',
      detail: `No breaker has been open for more than ${span(breakerOpenMs)}.`,
    }
  const said = found.map(
    ({ name, openMs, isForced }) => `${name} for ${span(openMs)}${isForced ? ', set by a person' : ''}`,
  )
  return {
    level: 'warn',
    title: found.length === 1 ? 'A breaker is open for long' : `${found.length} breakers are open for long`,
    detail: `${listing(said, '; ')}. Its jobs wait, and burn no attempts. Either the downstream still fails, no worker can probe it, or a person keeps it open.`,
    fix: `stint breaker get ${first.name}`,
  }
}
