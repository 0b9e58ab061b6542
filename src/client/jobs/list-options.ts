import { jobStates } from '../../core/job.ts'
import type { JobState } from '../../core/job.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import type { ListRequest } from '../../jobs/search/list.ts'

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

export function resolveListOptions({
  state,
  queue,
  kind,
  key,
  correlationId,
  limit = 50,
  cursor,
  ...rest
}: ListOptions = {}): ListRequest {
  rejectUnknown('list', rest, ['state', 'queue', 'kind', 'key', 'correlationId', 'limit', 'cursor'])
  if (cursor !== undefined && !isUuid(cursor))
    throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
  return {
    states: state === undefined ? null : statesOf(state),
    queue: textOption('queue', queue),
    kind: textOption('kind', kind),
    key: textOption('key', key),
    correlationId: textOption('correlationId', correlationId),
    before: cursor ?? null,
    limit: integerOption('limit', limit, { min: 1, max: 200 }),
  }
}

function statesOf(state: JobState | readonly JobState[]): JobState[] {
  const states = typeof state === 'string' ? [state] : [...state]
  return states.map((one) => oneOfOption('state', one, jobStates))
}

export function textOption(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && !value.includes('\0')) return value
  throw invalidOption(name, 'a string', value)
}
