import { Link } from 'wouter'
import type { FlowGraph, FlowMember } from '../api/flows.ts'
import { useNow } from '../text/clock.ts'
import { shortId, span } from '../text/format.ts'
import { CountsBar, countsText } from './CountsBar.tsx'
import { NodeState } from './FlowState.tsx'
import { StateBadge } from './StateBadge.tsx'

/** When each job ran, one under the other; a large group is one bar of its counts. */
export function FlowWaterfall({ flow }: { flow: FlowGraph }) {
  const now = useNow()
  const times = flow.nodes.flatMap(({ jobs }) => jobs ?? []).flatMap((job) => endsOf(job, now))
  const from = Math.min(Date.parse(flow.createdAt ?? '') || now, ...times)
  const to = Math.max(from + 1, ...times)
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="When the jobs of this flow ran">
      <table className="rows waterfall">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">State</th>
            <th scope="col" className="num">
              Ran
            </th>
            <th scope="col" className="waterfall-time">
              {span(to - from)}
            </th>
          </tr>
        </thead>
        <tbody>
          {flow.nodes.map((node, index) =>
            node.jobs === null ? (
              <tr key={index}>
                <th scope="row" className="clip">
                  {node.name} <span className="muted">× {node.total}</span>
                </th>
                <td>
                  <NodeState state={node.state} />
                </td>
                <td className="num muted">–</td>
                <td>
                  <CountsBar counts={node} /> <span className="muted">{countsText(node)}</span>
                </td>
              </tr>
            ) : (
              node.jobs.map((job) => <Row key={job.id} name={node.name} job={job} {...{ from, to, now }} />)
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}

function Row({
  name,
  job,
  from,
  to,
  now,
}: {
  name: string
  job: FlowMember
  from: number
  to: number
  now: number
}) {
  const [start, end] = endsOf(job, now)
  const share = (time: number): number => ((time - from) / (to - from)) * 100
  return (
    <tr>
      <th scope="row" className="clip">
        <Link href={`/jobs/${job.id}`}>
          {name} <span className="id">{shortId(job.id)}</span>
        </Link>
      </th>
      <td>
        <StateBadge state={job.state} />
      </td>
      <td className="num">{start === undefined || end === undefined ? '–' : span(end - start)}</td>
      <td>
        <svg className="waterfall-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          {start === undefined || end === undefined ? null : (
            <rect
              className={`fill-${job.state}`}
              x={Math.min(99.4, share(start))}
              width={Math.max(0.6, share(end) - share(start))}
              height="8"
              rx="0.5"
            />
          )}
        </svg>
      </td>
    </tr>
  )
}

/** When its last attempt began, and when it ended, or now while it runs; nothing for a job that has not started. */
function endsOf({ startedAt, finishedAt, state }: FlowMember, now: number): number[] {
  const start = Date.parse(startedAt ?? '')
  if (Number.isNaN(start)) return []
  const end = Date.parse(finishedAt ?? '')
  if (!Number.isNaN(end)) return [start, Math.max(start, end)]
  return state === 'running' ? [start, Math.max(start, now)] : []
}
