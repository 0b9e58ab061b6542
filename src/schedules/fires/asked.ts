import { cleanText } from '../../core/json/storable.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { isPerhapsOneRow } from '../../db/classify.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { askSql } from './ask.sql.ts'
import { failAskedSql } from './fail-asked.sql.ts'
import { fireAskedSql } from './fire-asked.sql.ts'

/**
 * A fire that was requested by a process without the code that makes its input. It is stored as `asked`, with the id of
 * its future job; the next tick of a worker that has the schedule's code makes the job. One statement stores the job and
 * changes the outcome, so each fire gets one job, even if several workers try at once or one is killed.
 */
export interface AskedFire {
  name: string
  input_from_code: boolean
  fire_at: string
  job_id: string
}

/** Asks for fires and returns the ids of their jobs, also of those that an earlier send of this call asked for. */
export function askForFires(
  db: Queryable,
  request: { name: string; times: string; reason: string },
): Promise<string[]> {
  return run(db, askSql, request, ({ id }: { id: string }) => id)
}

export interface MadeFire {
  queue: string
  kind: string
  reason: string | null
  priority: number
  keyed: boolean
}

/**
 * Undefined if another worker was faster. `made` is `{"job":…,"input":…}` if the schedule's code makes the input, else
 * `{}`.
 */
export async function fireAsked(
  db: Queryable,
  { name, job_id: jobId }: AskedFire,
  made: string,
): Promise<MadeFire | undefined> {
  const [fired] = await run(db, fireAskedSql, { name, jobId, made }, (row: MadeFire) => row)
  return fired
}

export async function failAsked(
  db: Queryable,
  { name, job_id: jobId }: AskedFire,
  error: unknown,
): Promise<void> {
  const reason = cleanText(`asked for, but its job could not be made: ${messageOf(error)}`, 2_000)
  try {
    await run(db, failAskedSql, { name, jobId, reason }, () => undefined)
  } catch (failure) {
    // Even the reason cannot be stored in this row. The next tick fails for it again; the other fires go on.
    if (!isPerhapsOneRow(failure)) throw failure
  }
}
