import { connect } from 'node:net'
import type { Socket } from 'node:net'
import pg from 'pg'
import { afterRequire } from './bundle-require.ts'

/**
 * A driver's client that can be given up for good.
 *
 * Closing a socket is not enough: the kernel still delivers the bytes that were written to it, so an INSERT that we
 * gave up on would still run once the network recovers. A reset drops those bytes. It needs the raw socket, which the
 * driver replaces when TLS begins; so we keep it from the start.
 */
export class ResettableClient extends afterRequire(pg.Client) {
  /** On the clock of performance.now(). */
  readonly madeAt = performance.now()
  readonly #socket: Socket
  #lostBy: Error | undefined
  #isGivenUp = false

  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // A connection that breaks fails the call that is on it; the driver also emits it as an event, which without a
    // listener would end the process. The pool listens only while a client is idle.
    this.on('error', (error) => {
      this.#lostBy ??= error
    })
    this.#socket = (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  /** Why the connection broke, if that happened while it was idle. */
  get lostBy(): Error | undefined {
    return this.#lostBy
  }

  /** The server's process id from the handshake; behind a pooler it is not a process id. */
  get serverPid(): number | null {
    return (this as unknown as { processID: number | null }).processID
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }

  /**
   * Sends a statement and another behind it at once, each a transaction of its own. Nothing else may be sent until both
   * are answered. The driver's pipeline mode is on for just these two: a connection that is in it for good refuses COPY.
   */
  queryBoth(
    first: pg.QueryConfig,
    second: pg.QueryConfig,
  ): [Promise<pg.QueryResult>, Promise<pg.QueryResult>] {
    const mode = this as { pipeline: boolean }
    mode.pipeline = true
    const both: [Promise<pg.QueryResult>, Promise<pg.QueryResult>] = [this.query(first), this.query(second)]
    void Promise.allSettled(both).then(() => {
      mode.pipeline = false
    })
    return both
  }

  /**
   * Resets the connection and asks the server to cancel its statement. A server process that waits for a lock does not
   * see that its client is gone: it would keep its own locks, and a connection, until it gets that lock.
   *
   * Not through a pooler, which forgets the session of the request when it sees the reset; and some cancel requests
   * crash PgBouncer 1.18 to 1.20. Statements that may wait long for locks have a limit of their own as well.
   */
  giveUp(): void {
    const { processID, secretKey } = this as unknown as { processID: number | null; secretKey: number | null }
    if (!this.#isGivenUp && processID !== null && secretKey !== null && isProcess(processID))
      askToCancel(this, { processID, secretKey })
    this.#isGivenUp = true
    this.reset()
  }
}

/** Poolers send a number of 32 random bits instead; on systems that run Postgres, process ids have at most 22 bits. */
function isProcess(pid: number): boolean {
  return pid > 0 && pid <= 2 ** 22
}

/** How long to try to deliver the cancel request. */
const askMs = 5_000

/** A message of 16 bytes on a connection of its own, unencrypted as libpq sends it: it only names the session. */
function askToCancel(
  { host, port }: pg.Client,
  { processID, secretKey }: { processID: number; secretKey: number },
): void {
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  const request = Buffer.alloc(16)
  for (const [index, value] of [16, cancelRequest, processID, secretKey].entries())
    request.writeInt32BE(value, 4 * index)
  socket.unref()
  socket.setTimeout(askMs, () => socket.destroy())
  // A cancel request that does not arrive changes nothing: the statement runs on, as without it.
  socket.on('error', () => undefined)
  // The server closes the connection once it has acted. libpq waits for that too, and PgBouncer relies on it.
  socket.write(request)
}

/** Its code in the protocol. */
const cancelRequest = 80_877_102
