import type { FlowDetail, FlowGraph, FlowItem, FlowList, FlowMember } from '../../../src/server/api/flow.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { FlowDetail, FlowGraph, FlowItem, FlowList, FlowMember }
export type FlowNode = FlowGraph['nodes'][number]

export function flowsQuery({
  cursor,
  isOpen,
  name,
}: {
  cursor: string | undefined
  isOpen: boolean
  name: string | undefined
}): LiveQuery<FlowList> {
  return {
    queryKey: ['flows', cursor ?? '', isOpen, name ?? ''],
    queryFn: ({ signal }) => get('flows', { cursor, name, ...(isOpen && { open: true }) }, signal),
    topic: 'overview',
    anywayEveryMs: 5_000,
    keep: true,
  }
}

export function flowQuery(id: string): LiveQuery<FlowGraph> {
  return {
    queryKey: ['flow', id],
    queryFn: ({ signal }) => get(at('flows', id, 'graph'), {}, signal),
    everyMs: 2_000,
    keep: true,
  }
}

export function replayFlow(id: string, reason: string): Promise<{ replayed: number }> {
  return send('POST', at('flows', id, 'replay'), reason === '' ? {} : { reason })
}

/** Cancels the flow in the state that the person saw. */
export function cancelFlow({ id, state }: FlowItem, reason: string): Promise<FlowDetail> {
  return send('POST', at('flows', id, 'cancel'), { expect: { state }, ...(reason !== '' && { reason }) })
}
