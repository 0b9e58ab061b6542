import { span } from '../../core/span.ts'
import { surelyOffMs } from '../../db/clock-skew.ts'
import type { ClockSkew } from '../../db/clock-skew.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { direction } from '../direction.ts'
import { listing } from '../listing.ts'
import { workerClocksSql } from './worker-clocks.sql.ts'

interface WorkerClock extends ClockSkew {
  host: string
  pid: string
}

export const workerClocks: Check = async (db, { clockWarnMs, clockFailMs }) => {
  const clocks = await run(db, workerClocksSql, {}, (row: WorkerClock) => row)
  const [furthest] = clocks
  if (furthest === undefined)
    return {
      level: 'ok',
      title: 'No worker has compared its clock yet',
      detail: 'A worker compares its clock with every heartbeat.',
    }
  const off = clocks.filter((one) => surelyOffMs(one) >= clockWarnMs)
  const [first] = off
  if (first === undefined)
    return {
      level: 'ok',
      title: `Worker clocks differ from the database's by at most ${span(Math.abs(furthest.aheadMs))}`,
      detail: `${clocks.length} live ${clocks.length === 1 ? 'worker' : 'workers'} measured this with the last heartbeats.`,
    }
  const said = off.map(
    (one) => `${nameOf(one)} is ${direction(one)} the database's (measured within ${span(one.errorMs)})`,
  )
  return {
    level: off.some((one) => surelyOffMs(one) >= clockFailMs) ? 'fail' : 'warn',
    title:
      off.length === 1
        ? `The clock of ${nameOf(first)} is ${direction(first)} the database's`
        : `The clocks of ${off.length} workers are wrong; ${nameOf(first)} by ${span(Math.abs(first.aheadMs))}`,
    detail: `${listing(said, '; ')}. Leases, schedules and retries use the database's clock and are correct. Times that handlers pass (runAt, deadlines) and the ids of jobs that they enqueue use the worker's clock. Correct the clock on that machine.`,
    fix: 'timedatectl set-ntp true',
  }
}

function nameOf({ host, pid }: WorkerClock): string {
  return `process ${pid} on ${host}`
}
