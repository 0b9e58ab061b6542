import { listAudit } from '../../operations/audit/audit.ts'
import type { AuditPage } from '../../operations/audit/audit.ts'
import { integerOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import type { Calls } from '../calls.ts'
import { textOption } from '../jobs/list-options.ts'

export interface ListAuditOptions {
  /** Who: `ana`, `cli:ana@host`. */
  actor?: string | undefined
  /** A job, schedule, queue, error group or operation. */
  target?: string | undefined
  /** `job.replay`, or all of a noun: `job`. */
  action?: string | undefined
  /** Entries a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

/** What people did to jobs, schedules, queues and errors, and what they were refused: `stint.audit`. */
export class Audit {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** A page of it, newest first. */
  async list(options: ListAuditOptions = {}): Promise<AuditPage> {
    const { actor, target, action, limit = 50, cursor, ...rest } = options
    rejectUnknown('audit.list', rest, ['actor', 'target', 'action', 'limit', 'cursor'])
    if (cursor !== undefined && !isUuid(cursor))
      throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
    const request = {
      actor: textOption('actor', actor),
      target: textOption('target', target),
      action: textOption('action', action),
      before: cursor ?? null,
      limit: integerOption('limit', limit, { min: 1, max: 200 }),
    }
    return this.#calls.send((db) => listAudit(db, request))
  }
}
