import { isStintError, StintError } from '../../core/errors.ts'
import { messageOf, peek } from '../../core/failures/thrown.ts'
import { classify, DeadlineError } from '../../db/classify.ts'
import { rejected } from '../../db/rejected.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { changeBucketSql } from './change-bucket.sql.ts'
import { closedMsSql } from './closed-ms.sql.ts'
import { takeTokensSql } from './take-tokens.sql.ts'

/** A bucket of a rate; '' is the key of a rate that is not by key, and of callers without one. */
export interface BucketAddress {
  readonly name: string
  readonly key: string
}

export interface TakeRequest extends BucketAddress {
  /** As many as there are, up to this; at least `least`, or none. */
  wanted: number
  least: number
  /** Tokens that come within this time are reserved. */
  maxWaitMs: number
  /** Leaves `keep` tokens to takers outside of jobs. */
  forJob: boolean
  /** Takers that were refused without a call since the last one. */
  refused: number
}

/** The answer to a taker. */
export interface TokenGrant {
  /** 0: none, and `waitMs` says how long it would take. */
  granted: number
  /** When they may be used; null: never, because it is more than a full bucket has. */
  waitMs: number | null
  /** How much longer the bucket stays closed. */
  closedMs: number
  perMs: number
  /** Tokens that one caller can take at once. */
  most: number
  byKey: boolean
}

/** Statements that are sent again after a lost connection or a conflict. Tokens may be taken twice then, never granted twice. */
const mostTries = 3

/** The statements about buckets. Every failure is a StintError. */
export class BucketCalls {
  readonly #database: () => Promise<Queryable>
  readonly #byKey = new Map<string, boolean>()

  constructor(database: () => Promise<Queryable>) {
    this.#database = database
  }

  /** Whether a rate has a bucket for each key; undefined before its first answer. */
  isByKey(name: string): boolean | undefined {
    return this.#byKey.get(name)
  }

  async take(request: TakeRequest): Promise<TokenGrant> {
    const { name } = request
    const [grant] = await this.#send(name, (db) =>
      run(db, takeTokensSql, { ...request }, (row: TokenGrant) => row),
    )
    if (grant === undefined) throw new StintError('database-rejected', `The rate '${name}' gave no answer.`)
    this.#byKey.set(name, grant.byKey)
    return grant
  }

  async change(request: BucketAddress & { given: number; closeMs: number }): Promise<void> {
    await this.#send(request.name, (db) => run(db, changeBucketSql, { ...request }, () => undefined))
  }

  async closedMs({ name, key }: BucketAddress): Promise<number> {
    const rows = await this.#send(name, (db) =>
      run(db, closedMsSql, { name, key }, (row: { closedMs: number }) => row.closedMs),
    )
    return rows[0] ?? 0
  }

  async #send<Result>(name: string, send: (db: Queryable) => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      let schema = ''
      try {
        const db = await this.#database()
        schema = db.schema
        return await send(db)
      } catch (error) {
        if (isStintError(error)) throw error
        if (peek(error, 'code') === 'ST003') throw notFound(name, error)
        const trouble = classify(error)
        if (trouble !== 'again' && trouble !== 'unknown' && trouble !== 'wait') throw rejected(error, schema)
        if (tries >= mostTries || trouble === 'wait' || error instanceof DeadlineError)
          throw unavailable(name, error)
      }
    }
  }
}

function notFound(name: string, cause: unknown): StintError {
  return new StintError(
    'limit-not-found',
    `No rate is named '${name}': define it with defineRate({ name: '${name}', … }), give it to new Worker({ flow: [ … ] }) and start that worker.`,
    { cause, issues: [{ path: 'name', message: `names '${name}', which does not exist` }] },
  )
}

function unavailable(name: string, cause: unknown): StintError {
  return new StintError(
    'database-unavailable',
    `The database did not answer about the rate '${name}': ${messageOf(cause)}. No tokens were granted; try again, or use \`onTrouble: 'allow'\`.`,
    { cause },
  )
}
