import { printWhere } from '../../core/filter/print-where.ts'
import { parseWhere } from '../../core/filter/where.ts'
import type { FoundJob, SearchPage } from '../../jobs/search/search.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts } from '../context.ts'
import { resourceOf } from './job-item.ts'
import { visiblePage } from './visible-page.ts'

export interface SearchQuery {
  where?: string | undefined
  cursor?: string | undefined
  limit?: number | undefined
}

const usualLimit = 50
/** Jobs that one search returns at most. */
const mostAtOnce = 200

/**
 * A page of the jobs that match a filter and that this caller may see. Hidden jobs leave no trace: they are not counted
 * as read, and the page is filled with the visible jobs that follow them.
 */
export async function searchJobs(
  caller: Caller,
  { stint, cursors }: Pick<ConsoleParts, 'stint' | 'cursors'>,
  { where, cursor, limit = usualLimit }: SearchQuery,
): Promise<SearchPage> {
  if (caller.isNarrowed === false) return stint.search({ where, cursor, limit })
  const filter = parseWhere(where ?? '')
  const queues = filter.queues?.filter((queue) => caller.can('view', { queue }))
  let asOf = new Date()
  if (queues?.length === 0) return { jobs: [], next: undefined, looked: { rows: 0, isComplete: true }, asOf }
  const visible = printWhere({ ...filter, queues })
  const page = await visiblePage<FoundJob>({
    caller,
    cursors,
    cursor,
    limit,
    most: mostAtOnce,
    read: async (below, size) => {
      const { jobs, next, asOf: at } = await stint.search({ where: visible, cursor: below, limit: size })
      asOf = at
      return { items: jobs, next }
    },
    visible: (jobs) => jobs.filter((job) => caller.can('view', resourceOf(job))),
  })
  const { items, next, isComplete } = page
  return { jobs: items, next, looked: { rows: items.length, isComplete }, asOf }
}
