import type { Context } from 'hono'
import { unitMs } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import type { Action } from '../api/common.ts'
import type { ConsoleParts, Env } from '../context.ts'
import { demand } from '../auth/demand.ts'
import { resourceOf } from './job-item.ts'
import { HttpProblem } from '../http/problem.ts'

/** The job, where the caller may see it: 404 where there is none, 410 where one of this id would be gone by now. */
export async function findJob(
  c: Context<Env>,
  parts: ConsoleParts,
  id: string,
  action: Action = 'view',
): Promise<Job> {
  const job = await parts.stint.get(id, { blob: false })
  if (job === undefined) throw await missing(parts, id)
  // The same answer as for none: nobody learns by asking what exists outside their scope.
  if (!c.get('caller').can('view', resourceOf(job))) throw await missing(parts, id)
  if (action !== 'view') demand(c, action, resourceOf(job))
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
    `There is no job ${id}; it may have been dropped with its history.`,
    {
      jobIds: [id],
    },
  )
}

/** When an id of ours was made; undefined for one of another kind. */
function timeIn(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined
}
