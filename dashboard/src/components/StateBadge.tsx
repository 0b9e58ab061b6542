import type { State } from '../../../src/server/api/common.ts'
import { Icon } from './Icon.tsx'

/** A state is an icon, a word and a colour: no one of them alone has to tell. */
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
