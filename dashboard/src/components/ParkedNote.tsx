import { resumeJob } from '../api/jobs.ts'
import type { JobDetail, ParkedJob } from '../api/jobs.ts'
import { shortId } from '../text/format.ts'
import { CliLine } from './CliLine.tsx'
import { Icon } from './Icon.tsx'
import { Time } from './Time.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

/** Why a job is parked: what its handler asked for, beside what is recorded. */
export function ParkedNote({ job, parked }: { job: JobDetail; parked: ParkedJob }) {
  const run = useAct((accept: boolean) => resumeJob(job, accept), {
    done: () => {
      say({ tone: 'done', text: `${job.kind} ${shortId(job.id)} is tried again.` })
    },
  })
  const { asked, recorded, cli } = parked
  return (
    <div className="note note-warn" role="status">
      <Icon name="warn" />
      <div className="note-body">
        <strong>Parked: the code has changed in front of recorded steps.</strong>
        <dl className="facts">
          <div>
            <dt>Recorded</dt>
            <dd>{recorded === null ? '–' : callText(recorded)}</dd>
          </div>
          <div>
            <dt>Asked for</dt>
            <dd>{asked === null ? '–' : callText(asked)}</dd>
          </div>
          <div>
            <dt>Tried again</dt>
            <dd>
              <Time at={parked.nextTryAt} />
              {parked.tries > 1 ? <span className="muted"> (parked {parked.tries} times)</span> : null}
            </dd>
          </div>
        </dl>
        <span>
          Nothing runs, and no attempt was used. Deploy code that fits the recorded steps, or accept the new
          code: recorded steps that it does not ask for are then ignored.
        </span>
        {cli === null ? null : (
          <>
            <div className="note-actions">
              <button
                type="button"
                className="button primary"
                disabled={run.isPending}
                onClick={() => {
                  run.mutate(false)
                }}
              >
                Resume
              </button>
              <button
                type="button"
                className="button"
                disabled={run.isPending}
                onClick={() => {
                  run.mutate(true)
                }}
              >
                Accept the new code
              </button>
            </div>
            <CliLine command={cli} label="Resume, on the command line" />
            <CliLine command={`${cli} --accept`} label="Accept the new code, on the command line" />
          </>
        )}
      </div>
    </div>
  )
}

function callText({ name, n, type }: { name: string; n: number; type: string }): string {
  return `${type} “${name}”${n === 0 ? '' : ` #${n + 1}`}`
}
