import type { Database } from '../../db/database.ts'
import type { AboutWorker } from '../../jobs/leases/lease.ts'
import type { Parked } from '../recovery/parked.ts'
import type { ClaimReport } from '../claim/claim-report.ts'
import { Claims } from '../claim/claims.ts'
import type { Part } from '../part.ts'
import { Lease } from './lease.ts'
import type { LeaseConfig } from './lease.ts'

export interface TenureConfig {
  db: Database
  /** The id of its first lease; each further one has its own. */
  workerId: string
  /** Messages of the lease thread go to the code that handles a lost lease. */
  lease: Omit<LeaseConfig, 'workerId'>
  /** JSON of kind → newest contract version. */
  kinds: string
  parked: Parked
  claimReport: ClaimReport
}

/** The current lease of this worker, and the claims under it. After a lost lease it gets another one. */
export class Tenure implements Part {
  readonly #config: TenureConfig
  #lease: Lease
  #claims: Claims
  /** open: it may claim; closed: the worker stops; over: the lease is given up. */
  #state: 'open' | 'closed' | 'over' = 'open'
  /** A person paused this worker. */
  #isPaused = false
  /** When the lease was last at risk, or safe again. */
  #gapAt = -Infinity

  constructor(config: TenureConfig) {
    this.#config = config
    this.#lease = this.#newLease(config.workerId)
    this.#claims = this.#newClaims(config.workerId)
  }

  get workerId(): string {
    return this.#lease.workerId
  }

  get claims(): Claims {
    return this.#claims
  }

  /** How long ago the last confirmed heartbeat was sent. */
  get ageMs(): number {
    return this.#lease.ageMs
  }

  /** Whether jobs may be claimed and started: not while the worker stops or is paused, nor with a lease at risk. */
  get isOpen(): boolean {
    return this.#state === 'open' && !this.#isPaused && this.#lease.isTrusted
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** No job is claimed or started while it is paused. Heartbeats go on. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
  }

  /** Whether the worker stops. */
  get isClosed(): boolean {
    return this.#state !== 'open'
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** Whether our heartbeats have had no gap lately: after one, other workers may only seem to be lost. */
  get isFresh(): boolean {
    return this.#lease.isTrusted && performance.now() - this.#gapAt > this.#config.lease.leaseMs
  }

  /** Registers this worker; only then may it claim. */
  begin(db: Database, about: AboutWorker): Promise<void> {
    return this.#lease.begin(db, about)
  }

  /**
   * Sets another id for the next begin(). A registration whose reply was lost may be stored, and an id is registered
   * once.
   */
  renew(): void {
    const workerId = crypto.randomUUID()
    this.#lease = this.#newLease(workerId)
    this.#claims = this.#newClaims(workerId)
  }

  /** An attempt has begun that may run until then. */
  mayLastUntil(deadlineAt: number): void {
    this.#lease.mayLastUntil(deadlineAt)
  }

  /** No job is claimed or started from now on. Heartbeats go on. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closed'
  }

  /** Gives the lease up, so that others need not wait until it runs out. */
  async stop(): Promise<void> {
    this.#state = 'over'
    await this.#lease.end(this.#config.db)
  }

  /** Stops renewing a lease that was perhaps never registered. */
  async abandon(): Promise<void> {
    this.#state = 'over'
    await this.#lease.abandon()
  }

  health(): string[] {
    return this.#lease.isTrusted ? [] : [`its lease was last renewed ${Math.round(this.ageMs)} ms ago`]
  }

  #newLease(workerId: string): Lease {
    const { lease } = this.#config
    return new Lease({
      ...lease,
      workerId,
      onRisk: () => {
        this.#gapAt = performance.now()
        lease.onRisk()
      },
      onSafe: () => {
        this.#gapAt = performance.now()
        lease.onSafe()
      },
    })
  }

  #newClaims(workerId: string): Claims {
    const { db, kinds, parked, claimReport: report } = this.#config
    return new Claims({ db, workerId, kinds, parked, report })
  }
}
