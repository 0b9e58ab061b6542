import { StintError } from '../../core/errors.ts'
import type { Where } from '../../core/filter/where.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { searchWordsSql } from './search-words.sql.ts'

const window = 20_000

/**
 * Refuses a filter that found nothing because it names a search word that no job has. Only contracts know the valid
 * names, and this process does not have them.
 */
export async function checkWords(db: Queryable, { search = {} }: Where): Promise<void> {
  const names = Object.keys(search)
  if (names.length === 0) return
  type Row = { hasJobs: boolean; known: string[] }
  const [row] = await run(db, searchWordsSql, { names, window }, (found: Row) => found)
  const unknown = names.find((name) => row?.known.includes(name) === false)
  if (row?.hasJobs !== true || unknown === undefined) return
  const message = `Unknown filter "input.${unknown}:": no job has this search field. Contracts define search fields with \`search\`.`
  throw new StintError('invalid-option', message, {
    issues: [{ path: 'where', message }],
  })
}
