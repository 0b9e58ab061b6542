import { hasEndedBadly, stateOfOperation } from '../../../src/core/operation.ts'
import type { Operation } from '../api/operations.ts'
import { Icon } from './Icon.tsx'
import type { IconName } from './Icon.tsx'

const looks: Record<Operation['state'], { icon: IconName; tone: string }> = {
  pending: { icon: 'scheduled', tone: 'scheduled' },
  canary: { icon: 'running', tone: 'running' },
  ramping: { icon: 'running', tone: 'running' },
  paused: { icon: 'pause', tone: 'retrying' },
  stopped: { icon: 'fail', tone: 'dead' },
  aborted: { icon: 'cancelled', tone: 'cancelled' },
  done: { icon: 'succeeded', tone: 'succeeded' },
}

export function OperationState({ operation }: { operation: Pick<Operation, 'state' | 'fates'> }) {
  const look = looks[hasEndedBadly(operation) ? 'stopped' : operation.state]
  return (
    <span className={`state state-${look.tone}`}>
      <Icon name={look.icon} />
      <span>{stateOfOperation(operation)}</span>
    </span>
  )
}
