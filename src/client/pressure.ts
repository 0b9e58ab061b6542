import { nameOption } from '../core/names.ts'
import { rejectUnknown } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import { readPressure } from '../limits/pressure/read-pressure.ts'
import { reportOf } from '../limits/pressure/state.ts'
import type { PressureReport } from '../limits/pressure/state.ts'

export interface PressureOptions {
  /** One key of the queue; at most 512 bytes. */
  key?: string | undefined
}

export function resolvePressureOptions(
  queue: string,
  { key, ...rest }: PressureOptions = {},
): { queue: string; key: string | null } {
  rejectUnknown('pressure()', rest, ['key'])
  return { queue: nameOption('queue', queue), key: keyText('key', key, 512) ?? null }
}

/** How full a queue is, or one key of it. */
export async function pressureOf(
  db: Queryable,
  { queue, key }: { queue: string; key: string | null },
): Promise<PressureReport> {
  const found = (await readPressure(db, [queue])).find((one) => one.queue === queue)
  if (found === undefined) throw new Error(`The database gave no pressure of '${queue}'`)
  return reportOf(found, key)
}

/** How full every queue with a rule is, and which queues are closed. */
export async function allPressures(db: Queryable): Promise<PressureReport[]> {
  const known = await readPressure(db, [])
  const asked = await readPressure(
    db,
    known.map(({ queue }) => queue),
  )
  return asked.map((one) => reportOf(one))
}
