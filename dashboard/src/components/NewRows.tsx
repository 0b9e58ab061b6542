import { whole } from '../text/format.ts'
import { Icon } from './Icon.tsx'

/** "37 new": a button that shows new rows. Without new rows its space stays reserved, so that nothing moves. */
export function NewRows({
  waiting,
  letIn,
  more = false,
}: {
  waiting: number
  letIn: () => void
  more?: boolean
}) {
  return (
    <span className="new-rows" aria-live="polite">
      {waiting === 0 ? null : (
        <button type="button" className="pill" onClick={letIn}>
          {whole(waiting)}
          {more ? '+' : ''} new <Icon name="up" />
        </button>
      )}
    </span>
  )
}
