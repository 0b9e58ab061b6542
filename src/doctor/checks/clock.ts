import { span } from '../../core/span.ts'
import { measureSkew, surelyOffMs } from '../../db/clock-skew.ts'
import type { ClockSkew } from '../../db/clock-skew.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { direction } from '../direction.ts'
import { clockSql } from './clock.sql.ts'

const tries = 3

export const clock: Check = async (db, { clockWarnMs, clockFailMs }) => {
  let best: ClockSkew = { aheadMs: 0, errorMs: Infinity }
  // The answer with the shortest round trip is the most exact one.
  for (let i = 0; i < tries; i++) {
    const skew = await measureSkew(async () => {
      const [now] = await run(db, clockSql, {}, (row: { now: number }) => row.now)
      return now
    })
    if (skew !== undefined && skew.errorMs < best.errorMs) best = skew
  }
  const { aheadMs, errorMs } = best
  const offMs = surelyOffMs(best)
  const measured = `Measured between the database and this process, within ${span(errorMs)}.`
  if (offMs < clockWarnMs)
    return { level: 'ok', title: `Clocks differ by ${span(Math.abs(aheadMs))}`, detail: measured }
  return {
    level: offMs < clockFailMs ? 'warn' : 'fail',
    title: `This machine's clock is ${direction(best)} the database's`,
    detail: `${measured} Leases, schedules and retries use the database's clock. Times that your code passes (runAt, deadlines) and job ids, which sort by time, use this machine's clock.`,
    fix: 'timedatectl set-ntp true',
  }
}
