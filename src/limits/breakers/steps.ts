import type { FailureClass } from '../../core/failures/failure.ts'
import { normalizeMessage } from '../../core/failures/fingerprint.ts'
import { cleanText } from '../../core/json/storable.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { toCause } from './breaker.ts'
import type { BreakerCause, BreakerState } from './breaker.ts'
import { countSql } from './count.sql.ts'
import { failProbeSql } from './fail-probe.sql.ts'
import { giveProbeSql } from './give-probe.sql.ts'
import { passProbeSql } from './pass-probe.sql.ts'
import { renewProbeSql } from './renew-probe.sql.ts'
import { takeProbeSql } from './take-probe.sql.ts'
import { tripSql } from './trip.sql.ts'

/** A step from one state to the next, made by this process. */
export interface BreakerStep {
  name: string
  was: BreakerState
  state: BreakerState
  cause: BreakerCause | null
}

/** How long a process may probe without a sign of life: then another takes over. */
export const probeLeaseMs = 3_000

/** What happened while a breaker was closed; null: a success. */
export interface Outcome {
  class: FailureClass
  error: string
  fingerprint: string | null
}

/** Without ids and data: viewers, who may not see the message of an error, see the cause of a breaker. */
export function errorTitle(name: string, message: string): string {
  return cleanText(`${cleanText(name, 100)}: ${normalizeMessage(message)}`, 500)
}

interface Tally {
  ok: number
  failed: Partial<Record<FailureClass, number>>
  last: { error: string; fingerprint?: string } | undefined
}

/** Gathers the outcomes of one process, and writes them as totals: no row is written per call. */
export class OutcomeTally {
  readonly #process: string
  #byName = new Map<string, Tally>()
  #flushes = 0
  #failures = 0

  /** `process` is a UUID: each process writes rows of its own. */
  constructor(process: string) {
    this.#process = process
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0
  }

  /** Failures that are not written yet. */
  get failures(): number {
    return this.#failures
  }

  add(name: string, outcome: Outcome | null): void {
    let tally = this.#byName.get(name)
    if (tally === undefined) this.#byName.set(name, (tally = { ok: 0, failed: {}, last: undefined }))
    if (outcome === null) {
      tally.ok++
      return
    }
    this.#failures++
    tally.failed[outcome.class] = (tally.failed[outcome.class] ?? 0) + 1
    const { error, fingerprint } = outcome
    tally.last = { error, ...(fingerprint === null ? {} : { fingerprint }) }
  }

  /** Forgets the outcomes of a breaker. */
  drop(name: string): void {
    this.#byName.delete(name)
  }

  /** Writes what was gathered, and opens the breakers whose window says so; returns those that this process opened. */
  async write(db: Queryable): Promise<Tripped[]> {
    if (this.isEmpty) return []
    const tallies = [...this.#byName]
    // Outcomes that cannot be written are lost: those of the next second say the same.
    this.#byName = new Map()
    this.#failures = 0
    const outcomes = tallies.map(([name, { ok, failed }]) => ({ name, ok, failed }))
    const errors = Object.fromEntries(
      tallies.flatMap(([name, { last }]) => (last === undefined ? [] : [[name, last]])),
    )
    await run(
      db,
      countSql,
      { process: this.#process, flush: ++this.#flushes, outcomes: JSON.stringify(outcomes) },
      () => undefined,
    )
    const request = { names: tallies.map(([name]) => name), errors: JSON.stringify(errors) }
    return run(db, tripSql, request, ({ counts, probeInMs, ...row }: TrippedRow) => ({
      step: toStep(row),
      counts,
      probeInMs,
    }))
  }
}

/** A breaker that this process opened. */
export interface Tripped {
  step: BreakerStep
  counts: readonly unknown[]
  probeInMs: number
}
type TrippedRow = BreakerStep & Omit<Tripped, 'step'>

export interface Probing {
  name: string
  prober: string
}

/** A probe that this process has won: so many more successes close the breaker. */
export interface TakenProbe {
  was: 'open' | 'half-open'
  left: number
  counts: readonly unknown[]
}

/** Undefined where another process probes, or it is not time yet. */
export async function takeProbe(db: Queryable, probing: Probing): Promise<TakenProbe | undefined> {
  const [taken] = await run(db, takeProbeSql, { ...probing, leaseMs: probeLeaseMs }, (row: TakenProbe) => row)
  return taken
}

/** Says that probes succeeded. Undefined where this process probes no longer. */
export async function passProbe(
  db: Queryable,
  request: Probing & { succeeded: number },
): Promise<BreakerStep | undefined> {
  const [step] = await run(db, passProbeSql, request, toStep)
  return step
}

export async function failProbe(
  db: Queryable,
  { cause, ...probing }: Probing & { cause: BreakerCause },
): Promise<BreakerStep | undefined> {
  const [step] = await run(db, failProbeSql, { ...probing, cause: JSON.stringify(cause) }, toStep)
  return step
}

/** `over`: its probes run for longer than it may be open. `lost`: this process probes no longer. */
export async function renewProbe(db: Queryable, probing: Probing): Promise<'kept' | 'over' | 'lost'> {
  const [row] = await run(
    db,
    renewProbeSql,
    { ...probing, leaseMs: probeLeaseMs },
    (found: { mayGoOn: boolean | null }) => found,
  )
  if (row === undefined) return 'lost'
  return row.mayGoOn === false ? 'over' : 'kept'
}

export async function giveProbe(db: Queryable, probing: Probing): Promise<void> {
  await run(db, giveProbeSql, probing, () => undefined)
}

function toStep({ cause, ...step }: BreakerStep & { cause: unknown }): BreakerStep {
  return { ...step, cause: toCause(cause) }
}
