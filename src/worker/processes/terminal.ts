import { closeSync, openSync } from 'node:fs'

/** Whether there is a terminal to this process, and still open: /dev/tty can be opened only then. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
