import { missingJob } from '../client/job-id.ts'
import type { Stint } from '../client/stint.ts'
import { StintError } from '../core/errors.ts'
import type { Job } from '../core/job.ts'
import { isUuid } from '../core/uuid.ts'
import { UsageError } from './arguments.ts'
import { exitCodes, report } from './output/errors.ts'
import { jobTable } from './output/job-table.ts'
import { note, say, sayJson } from './output/output.ts'
import type { Output } from './output/output.ts'

export interface Act {
  ids: readonly string[]
  output: Output
  isDryRun: boolean
  /** The action in the past tense: `replayed`. */
  done: string
  /** Runs the action on one job. */
  act: (id: string) => Promise<Job>
  /** Why the action would be refused for the job as it is now; undefined if it would be done. */
  whyNot: (job: Job) => string | undefined
}

/** Runs the action on each job, one after the other; a failure does not stop the rest. */
export async function actOn(
  stint: Stint,
  { ids, output, isDryRun, done, act, whyNot }: Act,
): Promise<number> {
  const jobs: Job[] = []
  const codes: number[] = []
  for (const id of checkedIds(ids)) {
    try {
      jobs.push(isDryRun ? await rehearse(stint, id, whyNot) : await act(id))
    } catch (error) {
      codes.push(report(error))
    }
  }
  if (output === 'json') sayJson(jobs)
  else if (output === 'id') for (const { id } of jobs) say(id)
  else if (jobs.length > 0) say(jobTable(jobs, new Date()))
  if (jobs.length > 0) note(`${isDryRun ? 'would be ' : ''}${done}: ${jobs.length} of ${ids.length}`)
  if (codes.length === 0) return exitCodes.ok
  return jobs.length > 0 ? exitCodes.partial : (codes[0] ?? exitCodes.failed)
}

/** The job, without an input from a blob store: the command line has no blob store. */
export async function findJob(stint: Stint, id: string): Promise<Job> {
  return (await stint.get(id, { blob: false })) ?? missingJob(id)
}

/** Checks that there is at least one id, and that each is a whole UUID. */
export function checkedIds(ids: readonly string[]): readonly string[] {
  if (ids.length === 0) throw new UsageError('Missing argument: one or more job ids.')
  const wrong = ids.find((id): boolean => !isUuid(id))
  if (wrong !== undefined) throw new UsageError(`Expected a job id (a whole UUID), got '${wrong}'.`)
  return ids
}

async function rehearse(stint: Stint, id: string, whyNot: Act['whyNot']): Promise<Job> {
  const job = await findJob(stint, id)
  const why = whyNot(job)
  if (why === undefined) return job
  throw new StintError('state-changed', `Job ${id} of '${job.kind}' ${why}.`, { jobIds: [id] })
}
