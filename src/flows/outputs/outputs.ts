import { StintError } from '../../core/errors.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { outputsSql } from './outputs.sql.ts'

/** How a job of a node ended. */
export interface NodeOutput {
  state: string
  result: unknown
  error: unknown
}

/** The outputs of nodes by name, in the order of the inputs. A node that is missing does not exist. */
export type Outputs = ReadonlyMap<string, readonly NodeOutput[]>

const maxBytes = 16 * 1024 * 1024

interface OutputRow extends Omit<NodeOutput, 'state'> {
  name: string
  state: string | null
  isTooLarge: boolean
}

/** Reads what nodes of a flow left for other jobs; throws `results-too-large`. */
export async function readOutputs(
  db: Queryable,
  { flow, nodes }: { flow: string; nodes: readonly string[] },
): Promise<Outputs> {
  const rows = await run(db, outputsSql, { flow, nodes, maxBytes }, (row: OutputRow) => row)
  if (rows.some(({ isTooLarge }) => isTooLarge))
    throw new StintError(
      'results-too-large',
      `The results of ${nodes.map((name) => `'${name}'`).join(', ')} are more than 16 MiB together. Store them elsewhere and return references to them.`,
    )
  const outputs = new Map<string, NodeOutput[]>()
  for (const { name, state, result, error } of rows) {
    const list = outputs.get(name) ?? []
    outputs.set(name, list)
    if (state !== null) list.push({ state, result, error })
  }
  return outputs
}
