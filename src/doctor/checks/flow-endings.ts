import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { flowEndingsSql } from './flow-endings.sql.ts'

interface Waiting {
  endings: number
  flow: string | null
  oldestMs: number | null
}

export const flowEndings: Check = async (db, { endingMs }) => {
  const [found] = await run(db, flowEndingsSql, { endingMs }, (row: Waiting) => row)
  if (found === undefined || found.endings === 0)
    return {
      level: 'ok',
      title: 'The endings of flows are counted',
      detail: `No job of a flow has ended more than ${span(endingMs)} ago without being counted.`,
    }
  return {
    level: 'warn',
    title: 'Endings of flows are not counted',
    detail: `${found.endings} endings wait, the oldest for ${span(found.oldestMs ?? 0)}, of flow ${found.flow ?? ''}. What waits for these jobs does not start. Workers count endings within a second: either no worker is alive, or the count fails, which workers report as trouble.`,
    fix: 'stint doctor --only upkeep',
  }
}
