import { integerOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import { parseWhere } from '../../core/filter/where.ts'
import type { SearchRequest } from '../../jobs/search/search.ts'

export interface SearchOptions {
  /** A filter: `state:dead queue:billing`. @default every job that is not in the trash or edited into another */
  where?: string | undefined
  /** Jobs a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

export function resolveSearchOptions(options: SearchOptions = {}): SearchRequest {
  const { where = '', limit = 50, cursor, ...rest } = options
  rejectUnknown('search', rest, ['where', 'limit', 'cursor'])
  if (typeof where !== 'string') throw invalidOption('where', 'a filter', where)
  if (cursor !== undefined && !isUuid(cursor))
    throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
  return {
    where: parseWhere(where),
    before: cursor,
    limit: integerOption('limit', limit, { min: 1, max: 200 }),
  }
}
