import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { keepLeadingSql } from './keep-leading.sql.ts'
import { leadSql } from './lead.sql.ts'
import { resignSql } from './resign.sql.ts'

export interface LeaderConfig {
  /** The name of the lead. */
  name: string
  /** How long the lead lasts without being renewed, by the database's clock. */
  termMs: number
  /** The id of the process that takes it: the worker's id at that moment. */
  holder: () => string
  /** Where that process runs, for people. */
  about: Readonly<Record<string, unknown>>
}

/**
 * The share of the term after which a lead that is not renewed is not trusted: before the database gives it to others.
 */
const trustedFor = 0.8

/**
 * The lead among processes: a row with a term, on the database's time.
 *
 * It only saves work. A process that sleeps and wakes, or whose clock stands still, may lead for a moment beside another
 * one: work under the lead must be correct even if two processes do it at once.
 */
export class Leader {
  readonly #config: LeaderConfig
  #held: { holder: string; term: string } | undefined
  #trustedUntil = -Infinity

  constructor(config: LeaderConfig) {
    this.#config = config
  }

  /** Whether the lead is surely ours. */
  get isLeading(): boolean {
    return this.#held !== undefined && performance.now() < this.#trustedUntil
  }

  /** Takes the lead if it is free, or keeps it; returns whether it is ours. */
  async ask(db: Queryable): Promise<boolean> {
    const { name, termMs, holder: newHolder, about } = this.#config
    // Counted from when it was sent, not answered: the term in the database began no earlier.
    const sentAt = performance.now()
    const request = { name, termMs }
    if (this.#held !== undefined) {
      const kept = await run(db, keepLeadingSql, { ...request, ...this.#held }, toTerm)
      if (kept.length > 0) {
        this.#trustedUntil = sentAt + trustedFor * termMs
        return true
      }
      this.#held = undefined
    }
    const holder = newHolder()
    const [term] = await run(db, leadSql, { ...request, holder, about: JSON.stringify(about) }, toTerm)
    if (term === undefined) return false
    this.#held = { holder, term }
    this.#trustedUntil = sentAt + trustedFor * termMs
    return true
  }

  /** Releases the lead, so that others can take it at once. */
  async resign(db: Queryable): Promise<void> {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) await run(db, resignSql, { name: this.#config.name, ...held }, () => undefined)
  }
}

function toTerm({ term }: { term: string }): string {
  return term
}
