import { peek } from '../../core/failures/thrown.ts'
import type { FromChild, ToChild } from './messages.ts'

/** The process or thread of a child. The constructor starts it. */
export interface Body {
  readonly pid: number | undefined
  post(message: ToChild): void
  /** Ends it immediately, no matter what it is doing. */
  kill(): void
  /** Whether this process must stay alive for it. */
  keepAlive(isNeeded: boolean): void
}

export interface BodyConfig {
  memoryMb: number
  onMessage: (message: FromChild) => void
  /** It has ended; `story` tells people how. No message comes after this. */
  onEnd: (story: string) => void
}

/** The user's file may send messages on the channel too, to a process manager that it expects there. */
export function isOurs(message: unknown): message is FromChild {
  return typeof peek(message, 'type') === 'string'
}
