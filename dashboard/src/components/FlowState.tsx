import type { FlowItem, FlowNode } from '../api/flows.ts'
import { Icon } from './Icon.tsx'
import type { IconName } from './Icon.tsx'

type Look = readonly [icon: IconName, tone: string]

const flowLooks: Record<FlowItem['state'], Look> = {
  open: ['running', 'running'],
  held: ['dead', 'dead'],
  ended: ['succeeded', 'succeeded'],
  cancelled: ['cancelled', 'cancelled'],
}

export const nodeLooks: Record<FlowNode['state'], Look> = {
  waiting: ['waiting', 'waiting'],
  open: ['running', 'running'],
  succeeded: ['succeeded', 'succeeded'],
  dead: ['dead', 'dead'],
  cancelled: ['cancelled', 'cancelled'],
}

export function FlowState({ flow: { state, broken } }: { flow: Pick<FlowItem, 'state' | 'broken'> }) {
  return (
    <>
      <Look look={flowLooks[state]} word={state} />
      {broken.length === 0 ? null : (
        <span className="tag tag-warn" title={broken.join('; ')}>
          broken
        </span>
      )}
    </>
  )
}

export function NodeState({ state }: { state: FlowNode['state'] }) {
  return <Look look={nodeLooks[state]} word={state} />
}

function Look({ look: [icon, tone], word }: { look: Look; word: string }) {
  return (
    <span className={`state state-${tone}`}>
      <Icon name={icon} />
      <span>{word}</span>
    </span>
  )
}
