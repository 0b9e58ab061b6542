import type { Context } from 'hono'
import { unitMs } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import type { Action } from '../api/common.ts'
import type { ConsoleParts, Env } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { resourceOf } from './job-item.ts'
import { HttpProblem } from '../http/problem.ts'

/** The job, if the caller may see it. Throws 404 if there is none, 410 if a job with this id would be pruned by now. */
export async function findJob(
  c: Context<Env>,
  parts: ConsoleParts,
  id: string,
  action: Action = 'view',
): Promise<Job> {
  const job = await parts.stint.get(id, { blob: false })
  if (job === undefined) throw await missing(parts, id)
  // The same answer as for a missing job, so that a caller cannot find out what exists outside its scope.
  if (!c.get('caller').can('view', resourceOf(job))) throw await missing(parts, id)
  if (action !== 'view') requirePermission(c, action, resourceOf(job))
  return job
}

const keptByDefaultMs = 7 * unitMs.d

async function missing({ stint }: ConsoleParts, id: string): Promise<Error> {
  const madeAt = timeIn(id)
  if (madeAt !== undefined) {
    const settings = await stint.queues.list()
    const longest = Math.max(keptByDefaultMs, ...settings.map(({ keepMs }) => keepMs ?? 0))
    if (madeAt < Date.now() - longest)
      return new HttpProblem({
        status: 410,
        code: 'job-gone',
        title: 'The job was deleted after its retention',
        detail: `A job with this id would have been created at ${new Date(madeAt).toISOString()}. Its history has been deleted since.`,
      })
  }
  return new StintError(
    'job-not-found',
    `There is no job ${id}; it may have been deleted after its retention.`,
    {
      jobIds: [id],
    },
  )
}

/** The creation time in a UUIDv7; undefined for another UUID. */
function timeIn(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined
}
