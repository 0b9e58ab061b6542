import { isForbidden } from '../db/classify.ts'
import type { Queryable } from '../db/statement.ts'
import { gaugeService } from '../numbers/gauges.ts'
import { readGauges } from '../numbers/read-stats.ts'
import type { QueueGauge } from '../numbers/read-stats.ts'

/** So old that they say nothing of now; but better than nothing where nobody may refresh them. */
const anyAgeMs = 10 * 365 * 86_400_000

/** Where the database said no once: asking again every second would only fill its log. */
const forbidden = new WeakSet<Queryable>()

/**
 * What every queue has. Workers refresh that every two seconds. Where none lives, whoever looks does: a queue that nobody
 * serves is the one that people want to see. Where that is not allowed, they are as old as they say.
 */
export async function currentGauges(db: Queryable): Promise<QueueGauge[]> {
  const fresh = await readGauges(db)
  if (fresh.length > 0) return fresh
  try {
    if (!forbidden.has(db)) await gaugeService.runOnce(db)
  } catch (error) {
    if (!isForbidden(error)) throw error
    forbidden.add(db)
  }
  return readGauges(db, { oldestMs: anyAgeMs })
}
