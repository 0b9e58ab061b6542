import { closeSync, openSync } from 'node:fs'

/** Whether this process has a terminal that is still open: only then /dev/tty can be opened. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
