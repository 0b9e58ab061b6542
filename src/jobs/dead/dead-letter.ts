export const deadReasons = [
  ...(['exhausted', 'permanent', 'quarantined', 'expired', 'discarded-contract', 'invalid-row'] as const),
] as const
export type DeadReason = (typeof deadReasons)[number]

/** What is known of a dead letter beyond what is known of every job. */
export interface DeadLetterFacts {
  state: 'dead'
  reason: DeadReason
  /** The same for the same error: what error groups are made by. */
  fingerprint: string | null
}
