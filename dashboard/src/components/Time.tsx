import { useNow } from '../text/clock.ts'
import { shortSpan } from '../text/format.ts'
import { usePreferences } from '../text/preferences.ts'

/** A time in the format that the person chose; the exact time is in the tooltip and the markup. */
export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  const { times } = usePreferences()
  // An invalid time in an old row must not break the screen.
  if (at === null || Number.isNaN(Date.parse(at))) return <span className="muted">–</span>
  if (times === 'relative' && !exact) return <Ago at={at} />
  return (
    <time dateTime={at} title={at}>
      {clockText(at, times === 'utc')}
    </time>
  )
}

function Ago({ at }: { at: string }) {
  const now = useNow()
  const ms = now - Date.parse(at)
  return (
    <time dateTime={at} title={clockText(at, false)}>
      {/* Clocks differ a little: a time of just now must not appear as the future. */}
      {ms < -1_500 ? `in ${shortSpan(-ms)}` : ms < 1_000 ? 'just now' : `${shortSpan(ms)} ago`}
    </time>
  )
}

/** The age without "ago", for a column with the heading "oldest". */
export function Age({ since }: { since: string }) {
  const now = useNow()
  return <time dateTime={since}>{shortSpan(Math.max(0, now - Date.parse(since)))}</time>
}

/** The time until then, or that it is past. */
export function Until({ at }: { at: string }) {
  const now = useNow()
  const ms = Date.parse(at) - now
  return <time dateTime={at}>{ms <= 0 ? `ended ${shortSpan(-ms)} ago` : shortSpan(ms)}</time>
}

const clocks = {
  local: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }),
  utc: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
}

export function clockText(at: string, isUtc: boolean): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return '–'
  return isUtc ? `${clocks.utc.format(date)} UTC` : clocks.local.format(date)
}
