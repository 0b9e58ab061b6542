import { useLiveState } from '../api/use-live.ts'
import { Icon } from './Icon.tsx'
import { Time } from './Time.tsx'

/** A warning that the database does not answer the console, so the data on the screen is old. */
export function Trouble() {
  const { trouble } = useLiveState()
  if (trouble === undefined) return null
  return (
    <div className="note note-fail" role="alert">
      <Icon name="fail" />
      <div className="note-body">
        <strong>
          The database has not answered since <Time at={trouble.since} exact />
        </strong>
        <span>{trouble.detail}. The page shows older data. It updates when the database answers again.</span>
      </div>
    </div>
  )
}
