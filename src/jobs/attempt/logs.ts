import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { logsEndSql } from './logs-end.sql.ts'
import { logsSql } from './logs.sql.ts'

/** One line that a handler logged. */
export interface LogLine {
  /** The epoch of the attempt that logged it. */
  epoch: number
  /** Counts up within the attempt. */
  line: number
  at: Date
  level: string
  message: string
  data: unknown
}

export interface LogsRequest {
  id: string
  afterEpoch: number
  afterLine: number
  lastEpoch: number
  limit: number
}

/** Lines of a job from one line on, in the order they were logged. */
export function logs(db: Queryable, request: LogsRequest): Promise<LogLine[]> {
  return run(db, logsSql, request, (row: LogLine) => row)
}

/** The last lines of a job, in the order they were logged. */
export async function lastLogs(db: Queryable, request: LogsRequest): Promise<LogLine[]> {
  const lines = await run(db, logsEndSql, request, (row: LogLine) => row)
  return lines.reverse()
}
