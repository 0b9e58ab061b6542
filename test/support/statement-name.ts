import { createHash } from 'node:crypto'
import { render } from '../../src/db/statement.ts'
import type { Script } from '../../src/db/statement.ts'

/** The name under which a connection sends a statement that it has prepared: in every frame about it, not only the first. */
export function statementName(script: Script): string {
  const digest = createHash('sha256').update(render(script, 'stint')).digest('hex')
  return `stint_${digest.slice(0, 32)}`
}
