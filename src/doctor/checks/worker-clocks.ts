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
      detail: 'Each does so by its heartbeats, from the first one on.',
    }
  const off = clocks.filter((one) => surelyOffMs(one) >= clockWarnMs)
  const [first] = off
  if (first === undefined)
    return {
      level: 'ok',
      title: `Clocks of workers differ from the database's by ${span(Math.abs(furthest.aheadMs))} at most`,
      detail: `Of ${clocks.length} live ${clocks.length === 1 ? 'worker' : 'workers'}, as each measured it by its last heartbeats.`,
    }
  const said = off.map(
    (one) => `${nameOf(one)} is ${direction(one)} the database's, measured to ${span(one.errorMs)}`,
  )
  return {
    level: off.some((one) => surelyOffMs(one) >= clockFailMs) ? 'fail' : 'warn',
    title:
      off.length === 1
        ? `The clock of ${nameOf(first)} is ${direction(first)} the database's`
        : `The clocks of ${off.length} workers are off, of ${nameOf(first)} by ${span(Math.abs(first.aheadMs))}`,
    detail: `${listing(said, '; ')}. Leases, schedules and retries go by the database's clock and are right. Times that handlers give (runAt, deadlines) and the ids of jobs that they enqueue go by the worker's: set it right there.`,
    fix: 'timedatectl set-ntp true',
  }
}

function nameOf({ host, pid }: WorkerClock): string {
  return `${host}, process ${pid},`
}
