import type { Flow, FlowNode, FlowState, FlowSummary } from '../../flows/graph/read.ts'
import { edgesTo, heldJobs, nodeState } from '../../flows/graph/shape.ts'
import type { NodeState } from '../../flows/graph/shape.ts'
import { moment, oneLine, paint, relative } from './format.ts'
import type { Styled } from './format.ts'
import { facts, table } from './output.ts'

const flowStyles: Readonly<Record<FlowState, [mark: string, style: Styled['style']]>> = {
  open: ['●', 'green'],
  held: ['✖', 'red'],
  ended: ['✓', 'green'],
  cancelled: ['⊘', 'gray'],
}

const nodeStyles: Readonly<Record<NodeState, [mark: string, style: Styled['style']]>> = {
  waiting: ['◌', 'gray'],
  open: ['●', 'green'],
  succeeded: ['✓', 'green'],
  dead: ['✖', 'red'],
  cancelled: ['⊘', 'gray'],
}

/** The mark of a node's state, in its colour. */
export function nodeStyled(node: FlowNode): Styled {
  const [text, style] = nodeStyles[nodeState(node)]
  return { text, style }
}

export function flowTable(flows: readonly FlowSummary[], now: Date): string {
  const heads = ['ID', 'NAME', 'STATE', '>DONE', '>DEAD', 'CREATED', 'ENDED']
  const rows = flows.map((flow) => [
    flow.id,
    flow.name,
    stateStyled(flow),
    `${flow.total - flow.remaining}/${flow.total}`,
    flow.dead === 0 ? '' : { text: String(flow.dead), style: 'red' as const },
    relative(flow.createdAt, now),
    flow.endedAt === null ? '' : relative(flow.endedAt, now),
  ])
  return table(heads, rows, { spare: ['ENDED', 'CREATED'] })
}

/** `checkout  ✖ held  4/7 done, 1 dead, 2 wait for it` */
export function flowHeadline(flow: Flow, now: Date): string {
  const sum = (count: 'total' | 'remaining' | 'dead'): number =>
    flow.nodes.reduce((all, node) => all + node[count], 0)
  const held = heldJobs(flow.nodes)
  const parts = [
    `${sum('total') - sum('remaining')}/${sum('total')} done`,
    ...(sum('dead') > 0 ? [`${sum('dead')} dead`] : []),
    ...(held > 0 ? [`${held} held by them`] : []),
    `created ${relative(flow.createdAt, now)}`,
  ]
  const name = paint({ text: oneLine(flow.name, 200), style: 'bold' })
  return `${name}  ${paint(stateStyled(flow))}  ${parts.join(', ')}`
}

export function flowPage(flow: Flow, now: Date): string {
  const about = facts([
    ['id', flow.id],
    ['parent', flow.parentId],
    ['unique key', flow.uniqueKey],
    ['created', moment(flow.createdAt, now)],
    ['ended', moment(flow.endedAt, now)],
    ['reason', flow.cancelReason],
  ])
  const broken =
    flow.broken.length === 0
      ? []
      : [oneLine(`The rows of this flow have invalid values: ${flow.broken.join(', ')}`, 1_000)]
  return [flowHeadline(flow, now), about, ...broken, flowNodeTable(flow)].join('\n\n')
}

/** The nodes, one a line, with what each still waits for. */
export function flowNodeTable(flow: Flow): string {
  if (flow.nodes.length === 0) return 'no nodes'
  const after = edgesTo(flow.nodes)
  const heads = ['NODE', 'STATE', '>JOBS', '>DONE', '>DEAD', 'AFTER']
  const rows = flow.nodes.map((node, index) => {
    const state = nodeState(node)
    const [mark, style] = nodeStyles[state]
    const sources = (after[index] ?? []).map(({ node: from, when }) => {
      const name = flow.nodes[from]?.name ?? ''
      return when === 'succeeded' ? name : `${name} (${when})`
    })
    return [
      node.name,
      { text: `${mark} ${state}`, style },
      String(node.total),
      String(node.total - node.remaining),
      node.dead === 0 ? '' : { text: String(node.dead), style: 'red' as const },
      sources.join(', '),
    ]
  })
  return table(heads, rows, { spare: ['JOBS'] })
}

function stateStyled({ state, broken }: { state: FlowState; broken: readonly string[] }): Styled {
  const [mark, style] = flowStyles[state]
  return broken.length > 0
    ? { text: `▲ ${state}, broken`, style: 'yellow' }
    : { text: `${mark} ${state}`, style }
}
