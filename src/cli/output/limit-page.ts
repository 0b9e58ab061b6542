import type { KeyRule, LimitDetails, LimitInfo } from '../../limits/manage/read.ts'
import { estimateText, moment, relative, short, span } from './format.ts'
import type { Styled } from './format.ts'
import { facts, say, sayJson, table } from './output.ts'

export function limitTable(limits: readonly LimitInfo[], now: Date): string {
  const heads = ['NAME', 'TYPE', 'USE', '>BEHIND', 'COVERS', 'OVERRIDE', 'SOURCE']
  const rows = limits.map((one) => [
    ...[one.name, typeText(one)],
    useText(one),
    behindText(one),
    coversText(one),
    overrideText(one, now),
    sourceText(one),
  ])
  return table(heads, rows, { spare: ['SOURCE', 'COVERS', 'TYPE'] })
}

/** Shows one limit, as text or as JSON. */
export function showLimit(found: LimitDetails, asJson: boolean): number {
  if (asJson) return sayJson(found)
  const now = new Date()
  say(
    facts([
      ['name', found.name],
      ['type', typeText(found)],
      ['use', useText(found)],
      ['behind', behindText(found)],
      ['rule', ruleText(found)],
      ['override', overrideText(found, now)],
      ['reason', found.override?.reason ?? null],
      ['tiers', tiersText(found)],
      ['key rules', found.keyRules === 0 ? null : `${found.keyRules}${found.keyRules === 1_000 ? '+' : ''}`],
      ['covers', coversText(found)],
      ['source', sourceText(found)],
      ['changed', moment(found.updatedAt, now)],
      ['broken', found.broken === null ? null : { text: found.broken, style: 'red' }],
    ]),
  )
  if (found.keys.length > 0)
    say(
      `\n${table(
        ['KEY', 'USE', '>READY'],
        found.keys.map((key) => [
          key.key,
          found.type === 'rate' ? tokensText(key) : ofMax(key.used ?? 0, key.max),
          key.ready === null ? '' : estimateText(key.ready),
        ]),
      )}`,
    )
  if (found.holders.length > 0)
    say(
      `\n${table(
        ['HELD BY', 'KIND', 'QUEUE', 'KEY', 'FOR', 'WORKER'],
        found.holders.map(({ id, kind, queue, key, startedAt, workerId }) => [
          ...[id, kind, queue, key ?? ''],
          startedAt === null ? '' : span(Math.max(0, now.getTime() - startedAt.getTime())),
          workerId ?? '',
        ]),
        { spare: ['WORKER', 'QUEUE'] },
      )}`,
    )
  return 0
}

export function keyRuleTable(rules: readonly KeyRule[], now: Date): string {
  const rows = rules.map((rule) => [
    ...[rule.key, numberText(rule.max), numberText(rule.weight), rule.tier ?? ''],
    endText(rule, now),
    ...[rule.by ?? '', rule.reason ?? ''],
  ])
  return table(['KEY', '>MAX', '>WEIGHT', 'TIER', 'UNTIL', 'BY', 'REASON'], rows, { spare: ['REASON', 'BY'] })
}

function typeText({ type, byKey }: LimitInfo): string {
  return `${type}${byKey ? ' by key' : ''}`
}

function useText(one: LimitInfo): Styled | string {
  if (one.broken !== null) return { text: `broken: ${one.broken}`, style: 'red' }
  const [busiest] = one.keys
  if (one.byKey && busiest === undefined) return one.type === 'rate' ? 'all full' : ofMax(0, one.max)
  if (one.type === 'rate')
    return busiest !== undefined ? `${busiest.key} ${tokensText(busiest)}` : rateText(one)
  if (busiest !== undefined) return fullness(`${busiest.key} `, busiest.used ?? 0, busiest.max)
  return fullness('', one.used ?? 0, one.max)
}

function fullness(before: string, used: number, max: number | null): Styled | string {
  const text = `${before}${ofMax(used, max)}`
  return used >= (max ?? 0) ? { text, style: 'yellow' } : text
}

function rateText(one: LimitInfo): Styled | string {
  if (one.blockedUntil !== null) return { text: 'penalised', style: 'yellow' }
  return tokensText(one)
}

function tokensText({
  available,
  nextTokenMs,
}: {
  available: number | null
  nextTokenMs: number | null
}): string {
  const have = `${short(Math.max(0, Math.floor(available ?? 0)))} tokens`
  return nextTokenMs === null || nextTokenMs <= 0 ? have : `${have}, next in ${span(nextTokenMs)}`
}

function ofMax(used: number, max: number | null): string {
  return `${used}/${max ?? '?'}`
}

function behindText({ readyBehind }: LimitInfo): string {
  return readyBehind === null ? '' : readyBehind === 0 ? '0' : estimateText(readyBehind)
}

function ruleText({ type, declared, periodMs, burst, keep, onLimit }: LimitInfo): string | null {
  if (type === 'concurrency') return `${declared ?? '?'} at once, then ${onLimit ?? 'wait'}`
  if (type !== 'rate') return null
  const kept = keep === null || keep === 0 ? '' : `, jobs leave ${keep}`
  return `${declared ?? '?'} tokens per ${span(periodMs ?? 0)}, burst ${burst ?? '?'}${kept}`
}

function overrideText({ override }: LimitInfo, now: Date): string {
  if (override === null) return ''
  const until = override.until === null ? 'until cleared' : `until ${moment(override.until, now)}`
  return `${override.to} ${until}${override.by === null ? '' : ` by ${override.by}`}`
}

function endText({ until, isActive }: KeyRule, now: Date): Styled | string {
  if (!isActive) return { text: 'ended', style: 'gray' }
  return until === null ? 'cleared' : relative(until, now)
}

function coversText({ covers }: LimitInfo): string {
  return covers
    .map(({ queue, kinds }) => (kinds === null ? queue : `${queue} (${kinds.join(', ')})`))
    .join(', ')
}

function sourceText({ source, isOrphan, type }: LimitInfo): Styled | string {
  if (type === 'missing') return ''
  return isOrphan ? { text: `${source ?? ''}, in no live worker`, style: 'yellow' } : (source ?? '')
}

function tiersText({ tiers }: LimitInfo): string {
  return Object.entries(tiers)
    .map(([tier, max]) => `${tier} ${max}`)
    .join(', ')
}

function numberText(value: number | null): string {
  return value === null ? '' : String(value)
}
