import { plural } from '../text/format.ts'
import { Icon } from './Icon.tsx'

/** A warning for quarantined jobs: they may crash a worker again. */
export function CrashWarning({ crashed, canary }: { crashed: number; canary: number }) {
  return (
    <div className="note note-warn" role="status">
      <Icon name="warn" />
      <div className="note-body">
        <strong>{plural(crashed, 'job')} crashed a worker</strong>
        <span>
          The same may happen again.
          {canary === 0 ? '' : ` ${plural(canary, 'job')} ${canary === 1 ? 'is' : 'are'} tried first.`}
        </span>
      </div>
    </div>
  )
}
