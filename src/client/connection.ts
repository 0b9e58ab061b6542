import { StintError } from '../core/errors.ts'
import { connect } from '../db/connect.ts'
import type { Connected } from '../db/connect.ts'
import { Database } from '../db/database.ts'

export interface ConnectionConfig {
  connection: string | undefined
  schema: string
  poolSize: number
  timeoutMs: number
  statementTimeoutMs: number | undefined
  lockTimeoutMs: number | undefined
  poolWaitMs: number | undefined
}

interface Open {
  database: Database
  connected: Connected
}

/** The client's database, opened when it is first needed: `new Stint()` does no I/O. */
export class Connection {
  readonly #config: ConnectionConfig
  #open: Promise<Open> | undefined
  #url: string | undefined
  #database: Database | undefined
  #isClosed = false

  constructor(config: ConnectionConfig) {
    this.#config = config
  }

  async database(): Promise<Database> {
    if (this.#isClosed) throw new StintError('client-closed', 'This Stint client was closed; make a new one.')
    this.#open ??= this.#connect()
    const { database } = await this.#open
    return database
  }

  /** The URL of the database; undefined before the first connection. */
  get url(): string | undefined {
    return this.#url
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#database?.connections ?? 0
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const open = await this.#open?.catch(() => undefined)
    await open?.database.close()
    await open?.connected.release()
  }

  async #connect(): Promise<Open> {
    const { connection, schema, poolSize, timeoutMs, ...limits } = this.#config
    try {
      const connected = await connect(connection, process.env)
      this.#url = connected.url
      // One try may take a third of the caller's timeout, so that a stuck try leaves time for another.
      const defaultDeadlineMs = Math.max(100, Math.min(10_000, timeoutMs / 3))
      // A statement timeout of the server must pass first: its error tells for certain that nothing was done.
      const { statementTimeoutMs, lockTimeoutMs, poolWaitMs } = limits
      const deadlineMs = statementTimeoutMs === undefined ? defaultDeadlineMs : statementTimeoutMs + 1_000
      const database = new Database({
        url: connected.url,
        schema,
        poolSize,
        deadlineMs,
        statementTimeoutMs,
        lockTimeoutMs,
        poolWaitMs,
        applicationName: 'stint',
      })
      this.#database = database
      return { database, connected }
    } catch (error) {
      // Forget the failure: the next call connects again.
      this.#open = undefined
      throw error
    }
  }
}
