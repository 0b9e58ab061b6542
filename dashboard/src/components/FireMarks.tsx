import type { Fire } from '../api/schedules.ts'
import { Icon } from './Icon.tsx'
import { clockText } from './Time.tsx'

const icons = {
  fired: 'succeeded',
  skipped: 'cancelled',
  missed: 'dead',
  queued: 'scheduled',
  asked: 'scheduled',
} as const

/** The last fires, oldest first: each has a shape, a colour, and a text for hover and screen readers. */
export function FireMarks({ fires }: { fires: readonly Fire[] }) {
  if (fires.length === 0) return <span className="muted">none yet</span>
  const count = (outcome: Fire['outcome']): number => fires.filter((fire) => fire.outcome === outcome).length
  const words = (['fired', 'skipped', 'missed', 'queued', 'asked'] as const)
    .filter((outcome) => count(outcome) > 0)
    .map((outcome) => `${count(outcome)} ${outcome}`)
    .join(', ')
  return (
    <span className="fires" role="img" aria-label={`Last ${fires.length} fires: ${words}`}>
      {fires.toReversed().map((fire) => (
        <span
          key={fire.fireAt}
          className={`fire fire-${fire.outcome}`}
          title={`${clockText(fire.fireAt, false)} ${fire.outcome}${fire.reason === null ? '' : `: ${fire.reason}`}`}
        >
          <Icon name={icons[fire.outcome]} />
        </span>
      ))}
    </span>
  )
}
