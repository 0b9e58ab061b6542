import { createHash } from 'node:crypto'
import { render } from '../../src/db/statement.ts'
import type { Script } from '../../src/db/statement.ts'

/**
 * Texts that identify a statement in the frames of a connection: its name, which is in every frame of a prepared
 * statement, and its file, if the text is sent each time, as through a pooler.
 */
export function statementMarks(script: Script): string[] {
  const digest = createHash('sha256').update(render(script, 'stint')).digest('hex')
  return [`stint_${digest.slice(0, 32)}`, `/* ${script.name} */`]
}
