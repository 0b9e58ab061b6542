import { createHash } from 'node:crypto'
import { render } from '../../src/db/statement.ts'
import type { Script } from '../../src/db/statement.ts'

/**
 * What tells a statement in the frames of a connection: its name in every frame about it where it was prepared, and
 * its file where it is sent whole each time, as it is through a pooler.
 */
export function statementMarks(script: Script): string[] {
  const digest = createHash('sha256').update(render(script, 'stint')).digest('hex')
  return [`stint_${digest.slice(0, 32)}`, `/* ${script.name} */`]
}
