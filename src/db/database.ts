import { createHash } from 'node:crypto'
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StintError } from '../core/errors.ts'
import { storedTime } from '../core/far-time.ts'
import { isError } from '../core/failures/thrown.ts'
import {
  DeadlineError,
  isNamedStatementTrouble,
  isPoolTimeout,
  isStaleSession,
  isWrongNode,
  markUnsent,
} from './classify.ts'
import { ResettableClient } from './resettable-client.ts'
import type { PgTransaction } from './foreign-tx.ts'
import { afterReading, stoodStillAt } from './standstill.ts'
import { explainUnreachable } from './unreachable.ts'
import type { Bound, Copyable, Queryable } from './statement.ts'

/** A transaction on a connection of ours. */
export interface OwnTransaction extends Copyable {
  /** The driver's client that it runs on, for statements that are not ours: they have no deadline of ours. */
  readonly client: PgTransaction
  /** Gives up the connection for good, even in the middle of a statement. */
  reset(): void
  /** Why its connection was lost before it could be committed or rolled back, if it was. */
  lostBy: unknown
}

/** One connection of ours outside of transactions. */
export interface OwnSession extends Queryable {
  /**
   * Whether a pooler is in between, which gives each statement to any free session: a setting would then apply to
   * statements of other clients and not to our next one.
   */
  readonly isPooled: boolean
}

export interface DatabaseConfig {
  url: string
  schema: string
  /** Connections at most. */
  poolSize: number
  /** How long to wait for a connection at most, and then for the answer to each statement. */
  deadlineMs: number
  /** How long to wait for a connection. @default deadlineMs */
  poolWaitMs?: number | undefined
  /** The server's own limits: it cancels a statement that runs longer, or waits longer for a lock. */
  statementTimeoutMs?: number | undefined
  lockTimeoutMs?: number | undefined
  /** Shown in pg_stat_activity. */
  applicationName: string
  /**
   * Whether connections stay open for ever, for times when the server has no free ones; otherwise only while they are
   * used.
   */
  isKept?: boolean | undefined
}

/** A pool of connections of one purpose; every call through it has a deadline of ours. */
export class Database implements Copyable {
  readonly schema: string
  /** Connections at most. */
  readonly poolSize: number
  /** How long a statement may wait for a lock, so that the server ends it before we give it up. */
  readonly lockWaitMs: number
  readonly #pool: pg.Pool
  readonly #url: string
  #hasConnected = false
  readonly #deadlineMs: number
  readonly #poolWaitMs: number
  readonly #begin: string
  /** Statements are prepared once per connection, until a pooler in between shows that it cannot keep them. */
  #canPrepare = true
  /** Connections made before this time lead to a read-only server. */
  #wrongBefore = -Infinity
  readonly #busy = new Set<ResettableClient>()
  #closing: Promise<void> | undefined

  constructor(config: DatabaseConfig) {
    const { url, schema, poolSize, deadlineMs, poolWaitMs = deadlineMs, applicationName } = config
    const { isKept = false } = config
    this.#url = url
    this.schema = schema
    this.poolSize = poolSize
    this.lockWaitMs = Math.ceil(deadlineMs * 0.8)
    this.#deadlineMs = deadlineMs
    this.#poolWaitMs = poolWaitMs
    this.#begin = beginText(config)
    this.#pool = new pg.Pool({
      connectionString: url,
      max: poolSize,
      connectionTimeoutMillis: poolWaitMs,
      application_name: applicationName,
      keepAlive: true,
      ...(isKept ? { idleTimeoutMillis: 0 } : {}),
      allowExitOnIdle: true,
      Client: ResettableClient,
    })
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    this.#pool.on('error', () => undefined)
  }

  /** Connections that are open, in use or not. */
  get connections(): number {
    return this.#pool.totalCount
  }

  async query(text: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    if (this.#hasLimits) return this.transaction((tx) => tx.query(text, values))
    return this.#prepared((isNamed) =>
      this.#onClient((client) => this.#send(client, client.query(asked({ text, values }, isNamed)))),
    )
  }

  /**
   * Sends two statements, one right behind the other. The server runs the second as soon as the first is committed,
   * without waiting until we have read that. Resolves with the rows of the first; a failure of the second is ignored.
   */
  async queryThen(first: Bound, second: Bound): Promise<readonly unknown[]> {
    if (this.#hasLimits) {
      const rows = await this.query(first.text, first.values)
      void this.query(second.text, second.values).catch(() => undefined)
      return rows
    }
    return this.#prepared(
      (isNamed) =>
        new Promise((resolve, reject) => {
          const both = this.#onClient(async (client) => {
            const sent = client.queryBoth(asked(first, isNamed), asked(second, isNamed))
            const [rows, rest] = [this.#send(client, sent[0]), this.#send(client, sent[1])]
            rows.then(resolve, () => undefined)
            rest.catch((error: unknown) => {
              if (!isNamedStatementTrouble(error)) return
              // It did not run: a pooler's next server did not know its name. It is sent again without one, if the first ran.
              this.#canPrepare = false
              rows.then(() => this.query(second.text, second.values)).catch(() => undefined)
            })
            // The connection is in use until both are answered: other calls take another one meanwhile.
            await Promise.allSettled([rows, rest])
            await rows
            await rest
          })
          both.catch(reject)
        }),
    )
  }

  copy(text: string, rows: string): Promise<void> {
    if (this.#hasLimits) return this.transaction((tx) => tx.copy(text, rows))
    return this.#onClient((client) => withDeadline(client, copyRows(client, text, rows), this.#deadlineMs))
  }

  /** Runs `work` between BEGIN and COMMIT on one connection; an error that it throws rolls back. */
  async transaction<Result>(
    work: (tx: OwnTransaction) => Promise<Result>,
    { deadlineMs = this.#deadlineMs }: { deadlineMs?: number } = {},
  ): Promise<Result> {
    return this.#onClient(async (client) => {
      const tx: OwnTransaction = {
        schema: this.schema,
        client,
        lostBy: undefined,
        reset: () => {
          client.giveUp()
        },
        query: async (text, values) => {
          const { rows } = await withDeadline(client, client.query(asked({ text, values })), deadlineMs)
          return rows as unknown[]
        },
        copy: (text, rows) => withDeadline(client, copyRows(client, text, rows), deadlineMs),
      }
      await tx.query(this.#begin, [])
      let result: Result
      try {
        result = await work(tx)
      } catch (error) {
        // The caller gets the first error; if the rollback fails too, the connection is given up.
        await tx.query('rollback', []).catch((lost: unknown) => {
          tx.lostBy = client.lostBy ?? lost
          client.giveUp()
        })
        throw error
      }
      await tx.query('commit', [])
      return result
    })
  }

  /**
   * Runs `work` on one connection, for statements that cannot be in a transaction or need settings of their own. The
   * connection is closed afterwards, and its settings end with it. `deadlineMs` is for each statement.
   */
  async session<Result>(
    work: (session: OwnSession) => Promise<Result>,
    { deadlineMs = this.#deadlineMs }: { deadlineMs?: number } = {},
  ): Promise<Result> {
    return this.#onClient(
      async (client) => {
        const query: Queryable['query'] = async (text, values) => {
          const { rows } = await withDeadline(client, client.query(asked({ text, values })), deadlineMs)
          return rows as unknown[]
        }
        const [row] = (await query('select pg_backend_pid() as pid', [])) as { pid: number }[]
        return work({ schema: this.schema, query, isPooled: row?.pid !== client.serverPid })
      },
      { isOnce: true },
    )
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#pool.end())
  }

  /** Cuts the connections that are in use: their open transactions are rolled back, and their users are not awaited. */
  abandon(): void {
    for (const client of this.#busy) client.giveUp()
  }

  /** The limits hold within a transaction, so everything is in one. */
  get #hasLimits(): boolean {
    return this.#begin !== 'begin'
  }

  async #onClient<Result>(
    work: (client: ResettableClient) => Promise<Result>,
    { isOnce = false }: { isOnce?: boolean } = {},
  ): Promise<Result> {
    if (this.#closing !== undefined)
      throw new StintError('client-closed', 'This Stint client was closed; make a new one.')
    const client = await this.#connect()
    this.#busy.add(client)
    try {
      const result = await work(client)
      client.release(isOnce)
      return result
    } catch (error) {
      if (isWrongNode(error)) this.#wrongBefore = performance.now()
      // An error from the server leaves the connection usable; after any other, a reply may still be on its way.
      client.release(isOnce || !leavesUsable(error))
      throw error
    } finally {
      this.#busy.delete(client)
    }
  }

  /** A connection to a server that accepts writes, as far as we know; a new connection resolves the host name again. */
  async #connect(): Promise<PooledClient> {
    for (;;) {
      const client = await this.#checkOut().catch((error: unknown) => {
        throw markUnsent(explainUnreachable(error, this.#url, this.#hasConnected))
      })
      this.#hasConnected = true
      const pooled = client as unknown as PooledClient
      if (pooled.madeAt > this.#wrongBefore) return pooled
      pooled.release(true)
    }
  }

  /**
   * A connection of the pool. If this process stood still, the timeout fires before the process sees that a connection
   * is free: then it tries once more.
   */
  async #checkOut(): Promise<pg.PoolClient> {
    const dueAt = performance.now() + this.#poolWaitMs
    try {
      return await this.#pool.connect()
    } catch (error) {
      if (!isPoolTimeout(error) || !stoodStillAt(dueAt)) throw error
      return this.#pool.connect()
    }
  }

  /** Sends again without names if named statements turn out not to work on this connection. */
  async #prepared<Result>(send: (isNamed: boolean) => Promise<Result>): Promise<Result> {
    // Kept for this call, because another call may change it meanwhile.
    const isNamed = this.#canPrepare
    try {
      return await send(isNamed)
    } catch (error) {
      if (!isNamed || !isNamedStatementTrouble(error)) throw error
      this.#canPrepare = false
      return send(false)
    }
  }

  async #send(client: ResettableClient, sent: Promise<pg.QueryResult>): Promise<readonly unknown[]> {
    const { rows } = await withDeadline(client, sent, this.#deadlineMs)
    return rows as unknown[]
  }
}

function asked({ text, values }: Bound, isNamed = false): pg.QueryConfig {
  return { text, values: [...values], types, ...(isNamed ? { name: statementName(text) } : {}) }
}

/**
 * How our own statements parse values: as the driver does, except for times that have no valid Date. Given with each
 * statement and not to the pool, whose connections also carry the statements of handlers.
 */
const types = {
  getTypeParser: (oid: number, format: 'text' | 'binary'): unknown =>
    oid === timestamptz && format === 'text' ? readTime : readerOf(oid, format),
} as pg.CustomTypesConfig
const readerOf = pg.types.getTypeParser as (oid: number, format: 'text' | 'binary') => unknown
const timestamptz = 1184
const readDriverTime = readerOf(timestamptz, 'text') as (text: string) => unknown

function readTime(text: string): Date {
  return storedTime(text, readDriverTime(text))
}

/**
 * Limits are set by every transaction for itself, in the message that begins it. Set once for a connection they would
 * be lost behind PgBouncer, or worse, apply to another client's session; PgBouncer refuses them as parameters of the
 * connection. A database with limits gets no parallel workers either: a parallel scan takes two more server processes.
 */
function beginText({ statementTimeoutMs, lockTimeoutMs }: DatabaseConfig): string {
  const set = (name: string, ms: number | undefined): string =>
    ms === undefined ? '' : `; set local ${name} = ${Math.ceil(ms)}`
  const limits = `${set('statement_timeout', statementTimeoutMs)}${set('lock_timeout', lockTimeoutMs)}`
  return limits === '' ? 'begin' : `begin${limits}; set local max_parallel_workers_per_gather = 0`
}

type PooledClient = ResettableClient & pg.PoolClient

async function withDeadline<Result>(
  client: ResettableClient,
  call: Promise<Result>,
  deadlineMs: number,
): Promise<Result> {
  let callOff: (() => void) | undefined
  const deadline = new Promise<never>((_, reject) => {
    callOff = afterReading(deadlineMs, () => {
      client.giveUp()
      reject(new DeadlineError(deadlineMs))
    })
  })
  try {
    return await Promise.race([call, deadline])
  } finally {
    callOff?.()
  }
}

async function copyRows(client: ResettableClient, text: string, rows: string): Promise<void> {
  const stream = client.query(copyFrom(text))
  stream.end(rows)
  await finished(stream)
}

function leavesUsable(error: unknown): boolean {
  // isError() first, which never throws: a handler may throw a value on which `instanceof` throws, such as a proxy.
  if (!isError(error) || !(error instanceof pg.DatabaseError)) return false
  return error.severity !== 'FATAL' && error.severity !== 'PANIC' && !isStaleSession(error)
}

const names = new Map<string, string>()

/** Named by its text: two versions of Stint behind one pooler never run each other's statement. */
function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined)
    names.set(text, (name = `stint_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`))
  return name
}
