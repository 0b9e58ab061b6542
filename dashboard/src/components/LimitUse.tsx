import type { LimitItem } from '../api/limits.ts'
import { span, whole } from '../text/format.ts'
import { Icon } from './Icon.tsx'
import { Meter } from './Meter.tsx'

/** How full it is; of a limit by key, the key that is nearest to its limit. */
export function LimitUse({ item }: { item: LimitItem }) {
  if (item.broken !== null)
    return (
      <span className="tag tag-bad" title={item.broken}>
        <Icon name="warn" /> broken
      </span>
    )
  const [busiest] = item.keys
  const key = item.byKey ? <span className="muted">{busiest?.key ?? 'no key in use'} </span> : null
  if (item.type === 'rate') {
    if (item.byKey && busiest === undefined) return key
    return (
      <>
        {key}
        <Tokens of={busiest ?? item} burst={item.burst} isBlocked={item.blockedUntil !== null} />
      </>
    )
  }
  if (item.byKey && busiest === undefined) return key
  return (
    <>
      {key}
      <OfMax used={busiest?.used ?? item.used ?? 0} max={busiest?.max ?? item.max ?? 0} />
    </>
  )
}

export function OfMax({ used, max }: { used: number; max: number }) {
  return (
    <>
      {whole(used)}
      <span className="muted">/{whole(max)}</span>{' '}
      <Meter value={max === 0 ? 1 : used} of={max === 0 ? 1 : max} tone={used >= max ? 'full' : 'flow'} />
    </>
  )
}

interface Level {
  available: number | null
  nextTokenMs: number | null
}

export function Tokens({ of, burst, isBlocked }: { of: Level; burst: number | null; isBlocked: boolean }) {
  const have = Math.max(0, Math.floor(of.available ?? 0))
  const next = of.nextTokenMs ?? 0
  return (
    <>
      {whole(have)}
      <span className="muted">/{whole(burst ?? 0)} tokens</span>{' '}
      <Meter value={have} of={burst ?? 0} tone={next > 0 ? 'full' : 'flow'} />{' '}
      {isBlocked ? (
        <span className="tag tag-warn">
          <Icon name="pause" /> penalised, opens in {span(next)}
        </span>
      ) : next > 0 ? (
        <span className="muted">next in {span(next)}</span>
      ) : null}
    </>
  )
}
