import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import { usualServices } from '../../upkeep/services.ts'
import { upkeepStatus } from '../../upkeep/status.ts'
import type { ServiceStatus } from '../../upkeep/status.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveWorkersSql } from './live-workers.sql.ts'

/** A service may be late by this, whatever its interval. */
const graceMs = 600_000

export const upkeep: Check = async (db) => {
  const [found] = await run(db, liveWorkersSql, {}, (row: { now: Date; isAny: boolean }) => row)
  const { now: asOf = new Date(), isAny = false } = found ?? {}
  const { leader, services } = await upkeepStatus(db)
  const failing = services.filter(({ lastError }) => lastError !== null)
  const ages = new Map(usualServices({}).map(({ name, everyMs }) => [name, 3 * everyMs + graceMs]))
  const leadsMs = leader === null ? 0 : asOf.getTime() - leader.since.getTime()
  const late = services.filter((service) => {
    const lateMs = ages.get(service.name) ?? Infinity
    // Whoever leads since a moment ago has had no time to do it.
    return leadsMs > lateMs && ageOf(service, asOf) > lateMs
  })
  if (leader === null)
    return {
      level: isAny ? 'warn' : 'ok',
      title: isAny ? 'No worker does upkeep' : 'No worker lives, so nobody does upkeep',
      detail:
        'Jobs run all the same, but nothing old is removed and no days of history are made ahead. Workers ask three times a lease, so that between two leaders there may be a moment without one. Where it lasts, all of them have `upkeep: false`, or their login may not.',
    }
  const who = `Led by ${leader.host ?? '?'}, process ${leader.pid ?? '?'}, for ${span(leadsMs)}.`
  if (failing.length + late.length === 0) return { level: 'ok', title: 'Upkeep is done', detail: who }
  const said = [
    ...failing.map(({ name, lastError }) => `${name}: ${lastError ?? ''}`),
    ...late.map((service) =>
      service.lastOkAt === null
        ? `${service.name} has never been done`
        : `${service.name} has not been done for ${span(ageOf(service, asOf))}`,
    ),
  ]
  const isLongAgo = failing.some((service) => ageOf(service, asOf) > 86_400_000)
  return {
    level: isLongAgo ? 'fail' : 'warn',
    title: `Upkeep has trouble with ${listing([...new Set([...failing, ...late].map(({ name }) => name))])}`,
    detail: `${listing(said, '; ')}. ${who} It is tried again, more and more slowly.`,
    fix: 'stint status',
  }
}

function ageOf({ lastOkAt }: ServiceStatus, asOf: Date): number {
  return lastOkAt === null ? Infinity : asOf.getTime() - lastOkAt.getTime()
}
