import type {
  BreakerCause,
  BreakerChange,
  BreakerDetails,
  BreakerInfo,
} from '../../limits/breakers/breaker.ts'
import { moment, relative, span } from './format.ts'
import type { Styled } from './format.ts'
import { facts, say, sayJson, table } from './output.ts'

export function breakerTable(breakers: readonly BreakerInfo[], now: Date): string {
  const heads = ['NAME', 'STATE', 'SINCE', 'FAILED', 'NEXT', 'FORCED BY', 'KINDS']
  const rows = breakers.map((one) => [
    one.name,
    stateText(one),
    relative(one.since, now),
    `${one.seen.failed} of ${one.seen.ok + one.seen.failed}`,
    nextText(one, now),
    one.forced?.by ?? '',
    kindsText(one),
  ])
  return table(heads, rows, { spare: ['KINDS', 'FORCED BY'] })
}

/** Shows one breaker, as text or as JSON. */
export function showBreaker(found: BreakerDetails, asJson: boolean): number {
  if (asJson) return sayJson(found)
  const now = new Date()
  say(detailsText(found, now))
  if (found.recent.length > 0) say(`\n${changeTable(found.recent, now)}`)
  return 0
}

function detailsText(one: BreakerDetails, now: Date): string {
  const { forced, seen } = one
  return facts([
    ['name', one.name],
    ['state', stateText(one)],
    ['since', moment(one.since, now)],
    ['why', causeText(one.cause)],
    ['next', nextText(one, now)],
    ['forced', forced === null ? null : `until ${moment(forced.until, now)} by ${forced.by ?? 'unknown'}`],
    ['reason', forced?.reason ?? null],
    ['window', `${seen.failed} of ${seen.ok + seen.failed} failed within ${span(one.windowMs)}`],
    ['opens at', `${Math.round(one.share * 1_000) / 10} % of at least ${one.least}`],
    ['open for', `${span(one.openMs)}, then twice as long, up to ${span(one.mostOpenMs)}`],
    ['probes', String(one.probes)],
    ['counts', one.counts.join(', ')],
    ['kinds', kindsText(one)],
    ['source', one.source],
    ['changed', moment(one.updatedAt, now)],
  ])
}

function changeTable(changes: readonly BreakerChange[], now: Date): string {
  const rows = changes.map(({ at, was, state, cause, by, reason }) => [
    moment(at, now),
    `${was} → ${state}`,
    by ?? '',
    reason ?? causeText(cause) ?? '',
  ])
  return table(['WHEN', 'CHANGE', 'BY', 'WHY'], rows, { spare: ['WHY'] })
}

function stateText({ state, forced }: BreakerInfo): Styled | string {
  const text = forced === null ? state : `${state}, forced`
  return state === 'closed' ? text : { text, style: state === 'open' ? 'red' : 'yellow' }
}

function nextText({ state, probeAt, probed, probes, forced }: BreakerInfo, now: Date): string {
  if (forced !== null) return `as before ${relative(forced.until, now)}`
  if (state === 'half-open') return `${probed} of ${probes} probes succeeded`
  if (state === 'closed') return ''
  return probeAt === null || probeAt <= now ? 'probe: now' : `probe ${relative(probeAt, now)}`
}

function causeText(cause: BreakerCause | null): string | null {
  if (cause === null) return null
  const { failed, of, error, fingerprint, probed } = cause
  const parts = [
    failed === undefined || of === undefined ? undefined : `${failed} of ${of} failed`,
    error,
    fingerprint === undefined ? undefined : `(${fingerprint.slice(0, 8)})`,
    probed === undefined ? undefined : `${probed} probes succeeded`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? null : parts.join(' ')
}

function kindsText({ covers }: BreakerInfo): string {
  return covers.flatMap(({ queue, kinds }) => kinds.map((kind) => `${queue}/${kind}`)).join(', ')
}
