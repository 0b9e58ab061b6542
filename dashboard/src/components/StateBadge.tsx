import type { State } from '../../../src/server/api/common.ts'
import { Icon } from './Icon.tsx'

/** A job state as icon, word and colour, so that it does not depend on colour alone. */
export function StateBadge({ state, note }: { state: State; note?: string | null }) {
  return (
    <span className={`state state-${state}`}>
      <Icon name={state} />
      <span>
        {state}
        {note ? <span className="muted"> ({note})</span> : null}
      </span>
    </span>
  )
}
