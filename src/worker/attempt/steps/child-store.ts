import type { Database } from '../../../db/database.ts'
import {
  childOutputs,
  lookAtChildren,
  mostInStatement,
  spawn,
  spawnMore,
} from '../../../flows/children/children.ts'
import type { ChildOutput, ChildrenLook, Spawned, SpawnRequest } from '../../../flows/children/children.ts'
import { readLooks } from '../../../jobs/follow/look.ts'
import type { Look } from '../../../jobs/follow/look.ts'
import { holdRunning } from '../../../jobs/attempt/while-running.ts'
import type { Announcer } from '../../../jobs/wake-up/announcer.ts'
import { patiently } from './patiently.ts'

/** Ids that one statement reads. */
const mostIds = 1_000

/**
 * Stores the children of running jobs, and reads how they ended.
 *
 * Each call may be sent again after a lost reply: children are stored by the statement that inserts the record of their call,
 * whose key is unique, and under an id that the caller made.
 */
export class ChildStore {
  readonly #db: Database
  readonly #leaseMs: number
  readonly #announcer: Pick<Announcer, 'stored'>

  constructor(
    db: Database,
    { leaseMs, announcer }: { leaseMs: number; announcer: Pick<Announcer, 'stored'> },
  ) {
    this.#db = db
    this.#leaseMs = leaseMs
    this.#announcer = announcer
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const spawned = await this.#patiently(() =>
      request.jobs.length > mostInStatement ? this.#spawnMany(request) : spawn(this.#db, request),
    )
    if (spawned.type === 'stored') this.#announcer.stored(new Set(request.jobs.map(({ hint }) => hint)))
    return spawned
  }

  /** All in one transaction, which holds the row of their parent. */
  #spawnMany(request: SpawnRequest): Promise<Spawned> {
    const { id, lease } = request
    return this.#db.transaction(async (tx) => {
      if (!(await holdRunning(tx, { id, lease, idleMs: Math.ceil(this.#leaseMs) }))) return { type: 'lost' }
      const spawned = await spawn(tx, request)
      if (spawned.type === 'stored' && spawned.isNew) await spawnMore(tx, request)
      return spawned
    })
  }

  /** Undefined if the lease of their parent is gone. */
  look(request: Parameters<typeof lookAtChildren>[1]): Promise<ChildrenLook | undefined> {
    return this.#patiently(() => lookAtChildren(this.#db, request))
  }

  outputs(request: Parameters<typeof childOutputs>[1]): Promise<ChildOutput[]> {
    return this.#patiently(() => childOutputs(this.#db, request))
  }

  /** The state of jobs by their ids; one that does not exist is left out. */
  async states(ids: readonly string[]): Promise<Map<string, Look>> {
    const found = new Map<string, Look>()
    for (let first = 0; first < ids.length; first += mostIds) {
      const looks = await this.#patiently(() => readLooks(this.#db, ids.slice(first, first + mostIds)))
      for (const look of looks) found.set(look.id, look)
    }
    return found
  }

  #patiently<Result>(send: () => Promise<Result>): Promise<Result> {
    return patiently(send, { schema: this.#db.schema, forMs: this.#leaseMs })
  }
}
