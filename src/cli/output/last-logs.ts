import type { Stint } from '../../client/stint.ts'

/** The last lines of a job's log; none for a limit of 0. */
export async function lastLogs(stint: Stint, id: string, limit: number): ReturnType<Stint['logs']> {
  return limit === 0 ? [] : stint.logs(id, { last: true, limit })
}
