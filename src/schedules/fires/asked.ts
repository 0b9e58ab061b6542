import { cleanText } from '../../core/json/storable.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { mayBeOneRows } from '../../db/classify.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { askSql } from './ask.sql.ts'
import { failAskedSql } from './fail-asked.sql.ts'
import { fireAskedSql } from './fire-asked.sql.ts'

/**
 * Fires that were asked for by a process that cannot make their input. They are stored as `asked` with the id of the job to
 * come; the next tick of a worker that has the schedule's code makes the job. The statement that stores the job changes the
 * outcome, so there is one job per fire, however many workers try and whenever one is killed.
 */
export interface AskedFire {
  name: string
  input_from_code: boolean
  fire_at: string
  job_id: string
}

/** Asks for fires, and gives the ids of those that are asked for now, or were when this was sent before. */
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

/** Undefined where another worker was faster. `made` has what code makes of it: `{"job":…,"input":…}`, else `{}`. */
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
    // Its row cannot even be marked: it fails again at the next look, and stops no other.
    if (!mayBeOneRows(failure)) throw failure
  }
}
