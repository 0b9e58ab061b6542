import { messageOf } from '../../core/failures/thrown.ts'
import { prefixOf } from '../../core/json/utf8.ts'
import { classify } from '../../db/classify.ts'
import type { Queryable } from '../../db/statement.ts'
import { tellFailing } from '../../jobs/leases/lease.ts'
import { LoopPart, newLoop } from '../part.ts'
import { isRefusal } from '../watch/troubles.ts'
import type { Troubles } from '../watch/troubles.ts'

const mostCharacters = 500

/** How often to check whether the list has changed. */
const tellEveryMs = 1_000

/**
 * The queues that this worker cannot claim from although the database answers. The list is stored with its lease, for
 * the doctor and the overview. Nothing is written while claims succeed.
 */
export class FailingClaims extends LoopPart {
  readonly #queues = new Map<string, { since: string; error: string }>()
  #told: { worker: string; text: string } | undefined

  constructor(db: Queryable, workerId: () => string, troubles: Pick<Troubles, 'of'>) {
    super([
      newLoop(troubles, {
        name: 'tell',
        everyMs: tellEveryMs,
        pass: () => this.#tell(db, workerId()),
      }),
    ])
  }

  failed(queue: string, error: unknown): void {
    if (!isRefusal(classify(error))) return
    const since = this.#queues.get(queue)?.since ?? new Date().toISOString()
    this.#queues.set(queue, { since, error: prefixOf(messageOf(error), mostCharacters) })
  }

  wentWell(queue: string): void {
    if (this.#queues.size > 0) this.#queues.delete(queue)
  }

  /** Stores the list if it has changed since it was last stored under this id. */
  async #tell(db: Queryable, worker: string): Promise<void> {
    const failing = [...this.#queues].map(([queue, one]) => ({ queue, ...one }))
    const text = JSON.stringify(failing)
    const isTold = this.#told?.worker === worker ? this.#told.text === text : failing.length === 0
    if (isTold) return
    await tellFailing(db, { worker, failing })
    this.#told = { worker, text }
  }
}
