import type { BreakerItem } from '../api/breakers.ts'
import { useNow } from '../text/clock.ts'
import { plural, shortSpan, whole } from '../text/format.ts'
import { Icon } from './Icon.tsx'
import type { IconName } from './Icon.tsx'
import { Meter } from './Meter.tsx'
import { Age } from './Time.tsx'

const looks: Readonly<Record<BreakerItem['state'], { icon: IconName; tone: string }>> = {
  closed: { icon: 'succeeded', tone: 'succeeded' },
  open: { icon: 'cancelled', tone: 'dead' },
  'half-open': { icon: 'retrying', tone: 'retrying' },
}

/** `open 4m`, and whether a person has set it. */
export function BreakerState({ breaker: { state, since, forced } }: { breaker: BreakerItem }) {
  const { icon, tone } = looks[state]
  return (
    <>
      <span className={`state state-${tone}`}>
        <Icon name={icon} /> {state}
      </span>{' '}
      {state === 'closed' || since === null ? null : (
        <span className="muted">
          <Age since={since} />{' '}
        </span>
      )}
      {forced === null ? null : <span className="tag tag-warn">forced</span>}
    </>
  )
}

/** `23/25 failed`: while it is closed, of its window; else those that opened it, because its window is empty then. */
export function BreakerFailures({ breaker: { state, seen, cause, share } }: { breaker: BreakerItem }) {
  const isClosed = state === 'closed'
  const failed = isClosed ? seen.failed : cause?.failed
  const of = isClosed ? seen.failed + seen.ok : cause?.of
  if (failed === undefined || of === undefined || of === 0)
    return <span className="muted">{isClosed ? 'no calls' : '–'}</span>
  return (
    <>
      {whole(failed)}
      <span className="muted">/{whole(of)} failed</span>{' '}
      <Meter value={failed} of={of} tone={failed / of >= share ? 'full' : 'flow'} />
    </>
  )
}

/** What happens next: the time until its probe, or the end of a forced state. */
export function BreakerNext({
  breaker: { state, forced, probeAt, probed, probes },
}: {
  breaker: BreakerItem
}) {
  const now = useNow()
  const inMs = (at: string | null): number => (at === null ? 0 : Date.parse(at) - now)
  if (forced !== null) {
    const then = state === 'open' ? 'is probed' : 'counts again'
    return <span className="muted">{`${then} in ${shortSpan(inMs(forced.until))}`}</span>
  }
  if (state === 'half-open') return <>{`${whole(probed)} of ${plural(probes, 'probe')} succeeded`}</>
  if (state === 'closed') return <span className="muted">–</span>
  return <>{inMs(probeAt) < 1_000 ? 'probe is due' : `probe in ${shortSpan(inMs(probeAt))}`}</>
}
