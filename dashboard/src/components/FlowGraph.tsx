import { Link } from 'wouter'
import { layeredLayout } from '../../../src/core/layered-layout.ts'
import type { FlowGraph as Flow, FlowNode } from '../api/flows.ts'
import { token } from '../text/where.ts'
import { query } from '../url/use-url.ts'
import { countsText } from './CountsBar.tsx'
import { nodeLooks } from './FlowState.tsx'
import { Icon } from './Icon.tsx'
import { waitText } from './FlowNodes.tsx'

const node = { width: 168, height: 48 }
const gap = { x: 56, y: 16 }
const margin = 12

interface Point {
  x: number
  y: number
}

/** The flow from left to right. The tab with the list says the same. */
export function FlowGraph({ flow }: { flow: Flow }) {
  if (flow.nodes.length === 0) return <p className="empty">This flow has no nodes.</p>
  const layout = layeredLayout(flow.nodes.map(({ after }) => after.map((edge) => edge.node)))
  const at = ({ layer, row }: { layer: number; row: number }): Point => ({
    x: margin + layer * (node.width + gap.x),
    y: margin + row * (node.height + gap.y),
  })
  const end = at({ layer: layout.layers - 1, row: layout.rows - 1 })
  const [width, height] = [end.x + node.width + margin, end.y + node.height + margin]
  return (
    <div
      className="flow-graph"
      tabIndex={0}
      role="region"
      aria-label="Graph of this flow; the tab List has it as a table"
    >
      <div className="flow-canvas" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          <defs>
            <marker
              id="flow-tip"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              orient="auto"
            >
              <path d="M1 1 7 4 1 7" className="flow-tip" />
            </marker>
          </defs>
          {layout.edges.map(({ from, to, path }) => {
            const when = flow.nodes[to]?.after.find((edge) => edge.node === from)?.when ?? 'succeeded'
            return (
              <path
                key={`${from} ${to}`}
                className={`flow-edge flow-edge-${when}`}
                d={pathOf(path.map(at))}
                markerEnd="url(#flow-tip)"
              />
            )
          })}
        </svg>
        {flow.nodes.map((one, index) => {
          const place = layout.nodes[index]
          return place === undefined ? null : <Box key={index} flow={flow} of={one} {...at(place)} />
        })}
      </div>
    </div>
  )
}

/** Straight through the places between, and curved in the gaps. */
function pathOf(points: readonly Point[]): string {
  const middle = node.height / 2
  return points
    .map(({ x, y }, index) => {
      const next = points[index + 1]
      if (next === undefined) return ''
      const start = { x: x + node.width, y: y + middle }
      const through = index === 0 ? `M${start.x} ${start.y}` : `L${start.x} ${start.y}`
      const half = (start.x + next.x) / 2
      return `${through}C${half} ${start.y} ${half} ${next.y + middle} ${next.x} ${next.y + middle}`
    })
    .join('')
}

function Box({ flow, of, x, y }: { flow: Flow; of: FlowNode; x: number; y: number }) {
  const [job] = of.jobs ?? []
  const isOne = of.total === 1 && job !== undefined
  const [icon, tone] = isOne ? ([job.state, job.state] as const) : nodeLooks[of.state]
  const under = isOne ? job.state : countsText(of)
  const waits = waitText(flow, of)
  return (
    <Link
      className={`flow-node flow-node-${tone}`}
      href={isOne ? `/jobs/${job.id}` : `/jobs${query({ where: token('flow', flow.id) })}`}
      style={{ left: `${x}px`, top: `${y}px`, width: `${node.width}px`, height: `${node.height}px` }}
      title={waits === '' ? `${of.name}: ${under}` : `${of.name}: ${under}; waits for ${waits}`}
    >
      <span className="flow-node-name">
        <span className={`state state-${tone}`}>
          <Icon name={icon} />
        </span>{' '}
        {of.name}
        {of.total > 1 ? <span className="muted"> × {of.total}</span> : null}
      </span>
      <span className={of.dead > 0 ? 'bad' : 'muted'}>{under}</span>
    </Link>
  )
}
