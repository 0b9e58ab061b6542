import { useEffect, useState } from 'react'
import { pollMs, useLiveState } from '../api/use-live.ts'
import { live } from '../api/live.ts'
import { span } from '../text/format.ts'

const staleMs = 20_000

/** The age of the data on the screen, and how it is updated. */
export function DataAge() {
  const { mode, trouble } = useLiveState()
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => {
      tick((count) => count + 1)
    }, 500)
    return () => {
      clearInterval(timer)
    }
  }, [])
  const ageMs = performance.now() - live.state.heardAt
  const isStale = mode !== 'paused' && ageMs > staleMs
  const look =
    trouble !== undefined && mode !== 'paused'
      ? 'down'
      : isStale
        ? 'stale'
        : mode === 'connecting'
          ? 'polling'
          : mode
  return (
    <span className={`data-age data-age-${look}`} title={`Last update ${span(ageMs)} ago`}>
      <i aria-hidden="true" />
      {look === 'paused'
        ? 'paused'
        : look === 'down'
          ? 'database down'
          : look === 'polling'
            ? `polling ${span(pollMs)}`
            : `${look} ${tenths(ageMs)}`}
    </span>
  )
}

function tenths(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : span(ms)
}
