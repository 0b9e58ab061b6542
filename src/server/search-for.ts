import { parseWhere, printWhere } from '../core/where.ts'
import type { FoundJob, SearchPage } from '../jobs/search.ts'
import type { Caller, ConsoleParts } from './context.ts'
import { resourceOf } from './job-item.ts'

export interface SearchQuery {
  where?: string | undefined
  cursor?: string | undefined
  limit?: number | undefined
}

/** Pages that are looked through for those who may see only some of them, before they are asked to go on. */
const mostPages = 10
const usualLimit = 50

/**
 * A page of the jobs that a filter names and this caller may see. Jobs that it may not see leave no trace: they are not
 * counted as looked at, and a page is filled with what comes after them.
 */
export async function searchFor(
  caller: Caller,
  { stint }: Pick<ConsoleParts, 'stint'>,
  { where, cursor, limit }: SearchQuery,
): Promise<SearchPage> {
  if (caller.isNarrowed === false) return stint.search({ where, cursor, limit })
  const filter = parseWhere(where ?? '')
  const queues = filter.queues?.filter((queue) => caller.can('view', { queue }))
  if (queues?.length === 0)
    return { jobs: [], next: undefined, looked: { rows: 0, isComplete: true }, asOf: new Date() }
  const visible = printWhere({ ...filter, queues })
  const wanted = limit ?? usualLimit
  const jobs: FoundJob[] = []
  let next = cursor
  for (let pages = 1; ; pages++) {
    const page = await stint.search({ where: visible, cursor: next, limit: wanted - jobs.length })
    jobs.push(...page.jobs.filter((job) => caller.can('view', resourceOf(job))))
    next = page.next
    const isFull = jobs.length >= wanted || pages >= mostPages
    if (next !== undefined && page.looked.isComplete && !isFull) continue
    const { isComplete } = page.looked
    return { jobs, next, looked: { rows: jobs.length, isComplete }, asOf: page.asOf }
  }
}
