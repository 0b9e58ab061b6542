import { jobStates } from '../../core/job.ts'
import type { JobState, JobSummary } from '../../core/job.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import type { SearchRequest } from '../../jobs/search/search.ts'

export interface ListOptions {
  /** One state or several. @default all */
  state?: JobState | readonly JobState[] | undefined
  queue?: string | undefined
  kind?: string | undefined
  key?: string | undefined
  correlationId?: string | undefined
  /** Jobs a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

export interface JobPage {
  /** Newest first, without what they carry. */
  jobs: JobSummary[]
  /**
   * Where the next page begins; undefined when there is no more. A page with few or no jobs and a `next` looked
   * through 50,000 jobs and found no more that match.
   */
  next: string | undefined
}

/** The search that list() is: all jobs that are not in the trash, also those that were edited into another one. */
export function resolveListOptions({
  state,
  queue,
  kind,
  key,
  correlationId,
  limit = 50,
  cursor,
  ...rest
}: ListOptions = {}): SearchRequest {
  rejectUnknown('list', rest, ['state', 'queue', 'kind', 'key', 'correlationId', 'limit', 'cursor'])
  if (cursor !== undefined && !isUuid(cursor))
    throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
  return {
    where: {
      states: state === undefined ? undefined : statesOf(state),
      queues: valuesOf('queue', queue),
      kindNames: valuesOf('kind', kind),
      keys: valuesOf('key', key),
      correlations: valuesOf('correlationId', correlationId),
      hidesReplaced: false,
    },
    before: cursor,
    limit: integerOption('limit', limit, { min: 1, max: 200 }),
    isByWindow: true,
    mostMs: Infinity,
  }
}

function statesOf(state: JobState | readonly JobState[]): JobState[] {
  const states = typeof state === 'string' ? [state] : [...state]
  return states.map((one) => oneOfOption('state', one, jobStates))
}

/** An option as the values that a filter accepts: the one that was given, or undefined for all. */
export function valuesOf(name: string, option: unknown): [string] | undefined {
  const value = textOption(name, option)
  return value === null ? undefined : [value]
}

export function textOption(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && !value.includes('\0')) return value
  throw invalidOption(name, 'a string', value)
}
