import { invalidOption, integerOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import { deadReasons } from '../../jobs/dead/dead-letter.ts'
import type { DeadReason } from '../../jobs/dead/dead-letter.ts'
import type { SearchRequest } from '../../jobs/search/search.ts'
import { valuesOf } from '../jobs/list-options.ts'

export interface ListDeadOptions {
  queue?: string | undefined
  kind?: string | undefined
  key?: string | undefined
  reason?: DeadReason | undefined
  fingerprint?: string | undefined
  /** Those in the trash instead of those that are not. @default false */
  discarded?: boolean | undefined
  /** Also those that were edited into another job. @default false */
  replaced?: boolean | undefined
  /** Dead letters a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  before?: string | undefined
}

const known = [
  ...['queue', 'kind', 'key', 'reason', 'fingerprint'],
  ...['discarded', 'replaced', 'limit', 'before'],
]

/** The search that dead.list() is. */
export function resolveListDeadOptions({
  queue,
  kind,
  key,
  reason,
  fingerprint,
  discarded = false,
  replaced = false,
  limit = 50,
  before,
  ...rest
}: ListDeadOptions = {}): SearchRequest {
  rejectUnknown('dead.list', rest, known)
  if (before !== undefined && !isUuid(before))
    throw invalidOption('before', 'the `next` of an earlier page', before)
  return {
    where: {
      states: ['dead'],
      queues: valuesOf('queue', queue),
      kindNames: valuesOf('kind', kind),
      keys: valuesOf('key', key),
      reasons: reason === undefined ? undefined : [oneOfOption('reason', reason, deadReasons)],
      fingerprints: valuesOf('fingerprint', fingerprint),
      isDiscarded: booleanOption('discarded', discarded) ? true : undefined,
      hidesReplaced: !booleanOption('replaced', replaced),
    },
    before,
    limit: integerOption('limit', limit, { min: 1, max: 200 }),
    mostMs: Infinity,
  }
}

function booleanOption(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalidOption(name, 'true or false', value)
}
