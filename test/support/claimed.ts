import type { JobContract } from '../../src/index.ts'
import type { Queryable } from '../../src/db/statement.ts'
import { claim } from '../../src/jobs/claim.ts'
import { start } from '../../src/jobs/position.ts'
import { HeldJob } from '../../src/worker/attempt/held-job.ts'

/** Claims the next job of a contract's queue as a worker would, for tests of parts of a worker. */
export async function claimOne(db: Queryable, contract: JobContract, workerId: string): Promise<HeldJob> {
  const [job] = await claim(db, {
    worker: workerId,
    lease: crypto.randomUUID(),
    queue: contract.queue,
    kinds: JSON.stringify({ [contract.kind]: contract.version }),
    limit: 1,
    priority: 0,
    floor: start,
  })
  if (job === undefined) throw new Error(`There is nothing to claim in '${contract.queue}'`)
  return new HeldJob(job, { heldSince: performance.now(), workerId })
}
