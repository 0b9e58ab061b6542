import type { Database } from '../../db/database.ts'

/**
 * Work that the leading process does regularly for all processes.
 *
 * Two processes may do it at once, and a pass may end at any point: so each statement is correct by itself, bounded, and
 * decides by the database's clock. A service does not depend on the queues and kinds that its process serves.
 */
export interface Service {
  readonly name: string
  readonly everyMs: number
  /** How long one pass goes on before the rest is left to the next one; below five minutes. @default a minute */
  readonly passMs?: number
  /** One pass; it begins no further statement once `signal` is aborted. Throws if the next pass should come soon. */
  runOnce(db: Database, context: ServiceContext): Promise<void>
}

export interface ServiceContext {
  /**
   * Aborted when the lead is lost, the process stops, or the pass has taken long enough: the next pass does the rest.
   */
  readonly signal: AbortSignal
  /** Called with a problem that was skipped, so that the rest of the pass goes on. */
  readonly onPassedBy: (what: string, error: unknown) => void
}
