import { Link } from 'wouter'
import { live } from '../api/live.ts'
import { useLiveState } from '../api/use-live.ts'
import { prefer, usePreferences } from '../text/preferences.ts'
import type { Preferences } from '../text/preferences.ts'
import { DataAge } from './DataAge.tsx'
import { Icon } from './Icon.tsx'
import { useMe } from './use-me.ts'

const isMac = navigator.userAgent.includes('Mac')
const nextTheme = { system: 'light', light: 'dark', dark: 'system' } as const
const themeIcon = { system: 'system', light: 'sun', dark: 'moon' } as const
const timeWords: Record<Preferences['times'], string> = {
  relative: 'relative times',
  local: 'local time',
  utc: 'UTC',
}

export function Header({ jump, help }: { jump: () => void; help: () => void }) {
  const { me } = useMe()
  const { theme, times } = usePreferences()
  const isPaused = useLiveState().mode === 'paused'
  return (
    <header className="header">
      <Link href="/" className="brand" aria-label="Stint, overview">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <rect x="1" y="3" width="12" height="3.4" rx="1.7" />
          <rect x="4" y="8.3" width="12" height="3.4" rx="1.7" />
          <rect x="7" y="13.6" width="12" height="3.4" rx="1.7" />
        </svg>
        stint
      </Link>
      {me?.environment ? (
        <span className={`environment ${isProduction(me.environment) ? 'production' : ''}`}>
          {me.environment}
        </span>
      ) : null}
      <DataAge />
      <button
        type="button"
        className="button quiet icon-only"
        aria-pressed={isPaused}
        title={isPaused ? 'Resume live data (p)' : 'Pause live data (p)'}
        onClick={() => {
          if (isPaused) live.resume()
          else live.pause()
        }}
      >
        <Icon name={isPaused ? 'play' : 'pause'} />
        <span className="visually-hidden">Pause live data</span>
      </button>
      <button type="button" className="jump" onClick={jump}>
        <Icon name="search" />
        <span className="jump-words">Jump to a job, queue or screen</span>
        <kbd>{isMac ? '⌘' : 'Ctrl '}K</kbd>
      </button>
      <div className="header-end">
        <button
          type="button"
          className="button quiet"
          title="How times are shown"
          onClick={() => {
            prefer({ times: times === 'relative' ? 'local' : times === 'local' ? 'utc' : 'relative' })
          }}
        >
          <Icon name="scheduled" />
          <span className="times-word">{timeWords[times]}</span>
          <span className="visually-hidden">: change how times are shown</span>
        </button>
        <button
          type="button"
          className="button quiet icon-only"
          title={`Theme: ${theme}`}
          aria-label={`Theme: ${theme}. Change it`}
          onClick={() => {
            prefer({ theme: nextTheme[theme] })
          }}
        >
          <Icon name={themeIcon[theme]} />
        </button>
        <button
          type="button"
          className="button quiet icon-only"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={help}
        >
          <Icon name="keyboard" />
        </button>
        {me === undefined ? null : (
          <span className="actor">
            <span>{me.actor}</span>
            <span className="role">{me.readOnly ? 'read-only' : me.role}</span>
          </span>
        )}
      </div>
    </header>
  )
}

function isProduction(environment: string): boolean {
  return /^prod/i.test(environment)
}
