import { hostname, userInfo } from 'node:os'
import type { Operator } from '../client/operator/operator.ts'
import type { Stint } from '../client/stint.ts'

/** The client in the name of whoever types: `cli:ana@laptop`. */
export function asTyped(stint: Stint): Operator {
  return stint.as({ actor: `cli:${userName()}@${hostname()}`.slice(0, 200), origin: 'cli' })
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have a number and no name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
