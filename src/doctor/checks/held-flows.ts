import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { heldFlowsSql } from './held-flows.sql.ts'

interface Held {
  id: string
  name: string
  heldMs: number
}

export const heldFlows: Check = async (db, { flowHeldMs }) => {
  const found = await run(db, heldFlowsSql, { heldMs: flowHeldMs }, (row: Held) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'No flow is held for long',
      detail: `No flow has waited for the replay of a dead job for more than ${span(flowHeldMs)}.`,
    }
  return {
    level: 'warn',
    title: found.length === 1 ? 'A flow is held' : `${found.length} flows are held`,
    detail: `${listing(found.map(({ name, heldMs }) => `${name} for ${span(heldMs)}`))}. A job of it is dead, and what waits for that job waits for its replay. Replay the dead jobs, discard them, or cancel the flow.`,
    fix: `stint flow replay ${first.id}`,
  }
}
