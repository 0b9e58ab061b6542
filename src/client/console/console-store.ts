import { cursorKey, endSession, isSessionEnded } from './stored-sessions.ts'
import type { EndedSession } from './stored-sessions.ts'
import { readApproval } from '../../flows/waiting/approvals.ts'
import type { Approval } from '../../flows/waiting/approvals.ts'
import type { Calls } from '../calls.ts'

/** What a console reads and keeps for itself: sessions and the cursor key, which all consoles share, and approvals. */
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

  /** What an approval link asks for. */
  approval(link: { jobId: string; signal: string; id: string; expiresAt: number }): Promise<Approval> {
    return this.#calls.send((db) => readApproval(db, link))
  }

  cursorKey(): Promise<Buffer> {
    return this.#calls.send(cursorKey)
  }
}
