import type { Database } from '../db/database.ts'

/**
 * Something that one process does for all, again and again, under the lead.
 *
 * Two may be at it at once, and it may end anywhere: so each statement is right by itself, bounded, and decided by the
 * database's clock. It knows nothing of which queues and kinds its process serves.
 */
export interface Service {
  readonly name: string
  readonly everyMs: number
  /** How long one pass goes on before the rest is left to the next one; below five minutes. @default a minute */
  readonly passMs?: number
  /** One pass, which begins no further statement once `signal` is aborted. Throws where the next one should come soon. */
  runOnce(db: Database, context: ServiceContext): Promise<void>
}

export interface ServiceContext {
  /** The lead is lost, the process stops, or the pass has taken long enough: what is left is for the next one. */
  readonly signal: AbortSignal
  /** Told of what could not be done and is passed by, so that the rest is. */
  readonly onPassedBy: (what: string, error: unknown) => void
}
