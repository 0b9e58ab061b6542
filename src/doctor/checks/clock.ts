import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { clockSql } from './clock.sql.ts'

const tries = 3

export const clock: Check = async (db, { clockWarnMs, clockFailMs }) => {
  let best = { skewMs: 0, roundTripMs: Infinity }
  // The fastest answer says most: the clock was read somewhere between question and answer.
  for (let i = 0; i < tries; i++) {
    const before = Date.now()
    const startedAt = performance.now()
    const [now] = await run(db, clockSql, {}, (row: { now: Date }) => row.now)
    const roundTripMs = performance.now() - startedAt
    if (now !== undefined && roundTripMs < best.roundTripMs)
      best = { skewMs: now.getTime() - (before + roundTripMs / 2), roundTripMs }
  }
  const { skewMs, roundTripMs } = best
  const surelyMs = Math.max(0, Math.abs(skewMs) - roundTripMs / 2)
  const measured = `Measured to ${span(roundTripMs / 2)}, between the database and this process.`
  if (surelyMs < clockWarnMs)
    return { level: 'ok', title: `Clocks differ by ${span(Math.abs(skewMs))}`, detail: measured }
  return {
    level: surelyMs < clockFailMs ? 'warn' : 'fail',
    title: `This machine's clock is ${span(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} the database's`,
    detail: `${measured} Leases, schedules and retries go by the database's clock. Times that your code gives (runAt, deadlines) and the ids of jobs, which are in the order of time, go by this one's.`,
    fix: 'timedatectl set-ntp true',
  }
}
