import { hostname, userInfo } from 'node:os'
import type { Operator } from '../client/operator/operator.ts'
import type { Stint } from '../client/stint.ts'

/** The client in the name of the user of this shell: `cli:ana@laptop`. */
export function asTyped(stint: Stint): Operator {
  return stint.as({ actor: `cli:${userName()}@${hostname()}`.slice(0, 200), origin: 'cli' })
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // The user of a container may have a uid without a name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
