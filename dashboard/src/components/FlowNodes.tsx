import { Link } from 'wouter'
import type { FlowGraph, FlowNode } from '../api/flows.ts'
import { shortId, whole } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query } from '../url/use-url.ts'
import { CountsBar } from './CountsBar.tsx'
import { NodeState } from './FlowState.tsx'
import { StateBadge } from './StateBadge.tsx'
import { Time } from './Time.tsx'

/** The nodes of a flow as a table: the same as its graph, for every reader. */
export function FlowNodes({ flow }: { flow: FlowGraph }) {
  if (flow.nodes.length === 0) return <p className="empty">This flow has no nodes.</p>
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Nodes of this flow">
      <table className="rows">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">Jobs</th>
            <th scope="col" className="num">
              Ended
            </th>
            <th scope="col" className="num">
              Dead
            </th>
            <th scope="col">Waits for</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          {flow.nodes.map((node, index) => (
            <tr key={index}>
              <th scope="row" className="clip">
                <NodeName flow={flow} node={node} />
              </th>
              <td>
                <OwnState node={node} />
              </td>
              <td>
                <CountsBar counts={node} />
              </td>
              <td className="num">
                {whole(node.total - node.remaining)} of {whole(node.total)}
              </td>
              <td className={`num ${node.dead > 0 ? 'bad' : ''}`}>{whole(node.dead)}</td>
              <td className="wrap">{waitText(flow, node)}</td>
              <td>{node.jobs?.[0] === undefined ? null : <Time at={startOf(node)} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function NodeName({ flow, node }: { flow: FlowGraph; node: FlowNode }) {
  const [job] = node.jobs ?? []
  if (node.total === 1 && job !== undefined)
    return (
      <Link href={`/jobs/${job.id}`}>
        {node.name} <span className="id">{shortId(job.id)}</span>
      </Link>
    )
  return (
    <Link href={`/jobs${query({ where: token('flow', flow.id) })}`}>
      {node.name} <span className="muted">× {whole(node.total)}</span>
    </Link>
  )
}

/** A node of one job has the state of its job. */
function OwnState({ node }: { node: FlowNode }) {
  const [job] = node.jobs ?? []
  return node.total === 1 && job !== undefined ? (
    <StateBadge state={job.state} />
  ) : (
    <NodeState state={node.state} />
  )
}

function startOf({ jobs }: FlowNode): string | null {
  const starts = (jobs ?? []).flatMap(({ startedAt }) => startedAt ?? [])
  return starts.sort()[0] ?? null
}

const conditions = { succeeded: 'to succeed', ended: 'to end', dead: 'to die' } as const

/** What a node still waits for, in words. */
export function waitText(flow: FlowGraph, node: FlowNode): string {
  if (node.remaining === 0) return ''
  const [job] = node.jobs ?? []
  if (node.state !== 'waiting') return node.total === 1 ? (job?.waitsFor ?? '') : ''
  const left = node.after.flatMap(({ node: index, when }) => {
    const from = flow.nodes[index]
    if (from === undefined || (from.remaining === 0 && from.dead === 0)) return []
    const dead = from.dead > 0 && when === 'succeeded' ? ` (${whole(from.dead)} dead: replay)` : ''
    return [`${from.name} ${conditions[when]}${dead}`]
  })
  const any = node.needs < left.length ? `${node.needs} of: ` : ''
  return `${any}${left.join(', ')}`
}
