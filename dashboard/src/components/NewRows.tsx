import { whole } from '../text/format.ts'
import { Icon } from './Icon.tsx'

/** "37 new": what came in meanwhile, let in by hand. Its place is kept when there is nothing, so that nothing moves. */
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
