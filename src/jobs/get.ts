import { toJob } from '../core/job.ts'
import type { Job } from '../core/job.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { getSql } from './get.sql.ts'

/** One job, live or ended, or undefined. */
export async function get(db: Queryable, id: string): Promise<Job | undefined> {
  const [job] = await run(db, getSql, { id }, toJob)
  return job
}
