import { cursorKey, endSession, isSessionEnded } from './stored-sessions.ts'
import type { EndedSession } from './stored-sessions.ts'
import type { Calls } from '../calls.ts'

/** The sessions and the cursor key that all consoles of an installation share. */
export class ConsoleStore {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  endSession(session: EndedSession): Promise<void> {
    return this.#calls.send((db) => endSession(db, session))
  }

  isSessionEnded(digest: Buffer): Promise<boolean> {
    return this.#calls.send((db) => isSessionEnded(db, digest))
  }

  cursorKey(): Promise<Buffer> {
    return this.#calls.send(cursorKey)
  }
}
