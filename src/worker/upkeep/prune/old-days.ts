/*
 * Days of history are dropped, not deleted: nothing is left to vacuum.
 *
 * A settle must not be delayed. Dropping an attached partition locks the whole table. While that lock waits for a long
 * reader, all other statements wait behind it. So the owner detaches the partition first, CONCURRENTLY, which blocks no
 * statement and waits for transactions that may still read it: after two seconds it is cancelled and left as "pending",
 * for the next pass to finalize. A login that is not the owner (one with the role of a worker) cannot detach; it calls a
 * function of the owner, which drops the attached partition and gives up on the lock after 200 ms.
 *
 * What a crash leaves behind: a day that is pending, or detached and marked. old_days() names both.
 */
import { classify } from '../../../db/classify.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { cancellable } from '../cancellable.ts'
import { dropDaySql } from './drop-day.sql.ts'
import { oldDaysSql } from './old-days.sql.ts'
import type { ServiceContext } from '../service.ts'

interface OldDay {
  parent: string
  dayTable: string
  isAttached: boolean
  isPending: boolean
  isOurs: boolean
}

/** How long to wait for readers. */
const detachMs = 2_000

/** Drops the days of history that no queue keeps any more. If a transaction reads one, the next pass tries again. */
export async function dropOldDays(db: Queryable, { signal, onPassedBy }: ServiceContext): Promise<void> {
  const days = await run(db, oldDaysSql, {}, (row: OldDay) => row)
  const blocked = new Set<string>()
  for (const day of days) {
    if (signal.aborted) return
    // Only one day of a table may be pending, and a reader of one day blocks the others of its table too.
    if (blocked.has(day.parent) && day.isAttached) continue
    try {
      if (day.isAttached && day.isOurs) await detach(db, day)
      await run(db, dropDaySql, { dayTable: day.dayTable }, () => undefined)
    } catch (error) {
      const trouble = classify(error)
      if (trouble === 'wait' || trouble === 'unknown') throw error
      blocked.add(day.parent)
      onPassedBy(`'${day.dayTable}' could not be dropped yet`, error)
    }
  }
}

async function detach(db: Queryable, { parent, dayTable, isPending }: OldDay): Promise<void> {
  const name = (table: string): string => `"${db.schema}"."${table}"`
  // Before it is detached: a detached table without this comment may be a user's archive.
  await db.query(`comment on table ${name(dayTable)} is 'to be dropped by Stint'`, [])
  const how = isPending ? 'finalize' : 'concurrently'
  // Not in a transaction, where it cannot run.
  const statement = `alter table ${name(parent)} detach partition ${name(dayTable)} ${how}`
  await cancellable(db, statement, { afterMs: detachMs })
}
