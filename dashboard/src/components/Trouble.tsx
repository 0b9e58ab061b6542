import { useLiveState } from '../api/use-live.ts'
import { Icon } from './Icon.tsx'
import { Time } from './Time.tsx'

/** The console lives and its database does not answer: what is on the screen is as old as that. */
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
