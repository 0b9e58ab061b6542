import type { Stint } from '../../client/stint.ts'

/** The last lines of a job's log; 0 asks for none. */
export async function lastLogs(stint: Stint, id: string, limit: number): ReturnType<Stint['logs']> {
  return limit === 0 ? [] : stint.logs(id, { last: true, limit })
}
