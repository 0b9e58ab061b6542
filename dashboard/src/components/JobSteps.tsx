import { stepsQuery } from '../api/jobs.ts'
import type { JobDetail, JobStep } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { span } from '../text/format.ts'
import { ParkedNote } from './ParkedNote.tsx'
import { Section } from './Page.tsx'
import { Time } from './Time.tsx'

/** What the calls of the handler's context returned; nothing for a job without steps. */
export function JobSteps({ job }: { job: JobDetail }) {
  const { items: steps = [], parked = null } = useLive(stepsQuery(job.id)).data ?? {}
  if (steps.length === 0 && parked === null) return null
  return (
    <Section title="Steps">
      {parked === null ? null : <ParkedNote job={job} parked={parked} />}
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Steps of this job">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Type</th>
              <th scope="col">State</th>
              <th scope="col" className="num">
                Tries
              </th>
              <th scope="col" className="num">
                Took
              </th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step) => (
              <tr key={`${step.n} ${step.name}`}>
                <th scope="row" className="clip" title={step.name}>
                  {step.name}
                  {step.n === 0 ? null : <span className="muted"> #{step.n + 1}</span>}
                </th>
                <td>{step.type}</td>
                <td className={step.state === 'failed' ? 'bad' : ''}>{step.state}</td>
                <td className="num">{step.tries}</td>
                <td className="num">{tookOf(step)}</td>
                <Result step={step} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}

function Result({ step: { state, error, result, resultHidden, until } }: { step: JobStep }) {
  if (error !== null) {
    const text = `${error.name}: ${error.message}`
    return (
      <td className="clip bad" title={text}>
        {text}
      </td>
    )
  }
  if (state === 'open')
    return (
      <td className="muted">
        {until === null ? (
          'not complete'
        ) : (
          <>
            ends <Time at={until} />
          </>
        )}
      </td>
    )
  if (resultHidden !== null)
    return (
      <td className="muted">
        {resultHidden === 'role' ? 'Your role may not see results.' : 'Too large to show here.'}
      </td>
    )
  const text = result === null || result === undefined ? '' : JSON.stringify(result)
  return (
    <td className="clip" title={text}>
      <code>{text}</code>
    </td>
  )
}

function tookOf({ startedAt, endedAt }: JobStep): string {
  if (startedAt === null || endedAt === null) return ''
  return span(Date.parse(endedAt) - Date.parse(startedAt))
}
