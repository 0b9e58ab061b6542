import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import { serviceEveryMs, upkeepStatus } from '../../stats/read/fleet/upkeep.ts'
import type { ServiceStatus } from '../../stats/read/fleet/upkeep.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveWorkersSql } from './live-workers.sql.ts'

/** A service is late after three of its intervals and this. */
const graceMs = 600_000

export const upkeep: Check = async (db) => {
  const [found] = await run(db, liveWorkersSql, {}, (row: { now: Date; isAny: boolean }) => row)
  const { now: asOf = new Date(), isAny = false } = found ?? {}
  const { leader, services } = await upkeepStatus(db)
  const failing = services.filter(({ lastError }) => lastError !== null)
  const ages = new Map(Object.entries(serviceEveryMs).map(([name, everyMs]) => [name, 3 * everyMs + graceMs]))
  const leadsMs = leader === null ? 0 : asOf.getTime() - leader.since.getTime()
  const late = services.filter((service) => {
    const lateMs = ages.get(service.name) ?? Infinity
    // A new leader has not had time to run it yet.
    return leadsMs > lateMs && ageOf(service, asOf) > lateMs
  })
  if (leader === null)
    return {
      level: isAny ? 'warn' : 'ok',
      title: isAny ? 'No maintenance leader' : 'No live worker, so no maintenance leader',
      detail:
        'Jobs still run, but old rows are not removed and no partitions are created ahead. Workers try to become leader three times per lease, so a short gap between two leaders is normal. If it lasts, all workers have `upkeep: false`, or their database login lacks a permission.',
    }
  const who = `Leader: process ${leader.pid ?? '?'} on ${leader.host ?? '?'}, for ${span(leadsMs)}.`
  if (failing.length + late.length === 0) return { level: 'ok', title: 'Upkeep runs on time', detail: who }
  const said = [
    ...failing.map(({ name, lastError }) => `${name}: ${lastError ?? ''}`),
    ...late.map((service) =>
      service.lastOkAt === null
        ? `${service.name} has never succeeded`
        : `${service.name} has not succeeded for ${span(ageOf(service, asOf))}`,
    ),
  ]
  const isLongAgo = failing.some((service) => ageOf(service, asOf) > 86_400_000)
  return {
    level: isLongAgo ? 'fail' : 'warn',
    title: `Upkeep services are late or failing: ${listing([...new Set([...failing, ...late].map(({ name }) => name))])}`,
    detail: `${listing(said, '; ')}. ${who} The leader retries with growing pauses.`,
    fix: 'stint status',
  }
}

function ageOf({ lastOkAt }: ServiceStatus, asOf: Date): number {
  return lastOkAt === null ? Infinity : asOf.getTime() - lastOkAt.getTime()
}
