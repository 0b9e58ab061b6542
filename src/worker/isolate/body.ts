import { peek } from '../../core/failures/thrown.ts'
import type { FromChild, ToChild } from './messages.ts'

/** What a child lives in. It is started by being made. */
export interface Body {
  readonly pid: number | undefined
  post(message: ToChild): void
  /** Ends it for good, whatever it is doing. */
  kill(): void
  /** Whether this process may not end before it. */
  keepAlive(isNeeded: boolean): void
}

export interface BodyConfig {
  memoryMb: number
  onMessage: (message: FromChild) => void
  /** It is over; `story` says how, for people. Nothing is heard of it after this. */
  onEnd: (story: string) => void
}

/** A user's file may talk on the channel too, to the process manager that it believes to be there. */
export function isOurs(message: unknown): message is FromChild {
  return typeof peek(message, 'type') === 'string'
}
